/// Domains: what a made-up /sys/devices/system says of machines with several sockets, NUMA nodes and caches, how ranks
/// are divided among them, and the reason wherever that gives one domain.
#include "runtime/host_topology.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "api/settings.h"
#include "attune/attune.hpp"
#include "core/error.h"
#include "runtime/available.h"

namespace attune::host {
namespace {

/// The files of a machine, as Linux has them.
class Sysfs {
 public:
  explicit Sysfs(int cpus) : cpus_(cpus) {
    static int serial = 0;
    root_ = std::filesystem::current_path() / ("sysfs-" + std::to_string(::getpid()) + "-" + std::to_string(serial++));
  }
  ~Sysfs() { std::filesystem::remove_all(root_); }
  Sysfs(const Sysfs&) = delete;
  Sysfs& operator=(const Sysfs&) = delete;

  /// Every `each` CPUs share a package, a NUMA node, a cache of a level.
  void packages(int each, const char* file = "package_cpus_list") {
    for (int cpu = 0; cpu < cpus_; ++cpu) write(cpu_folder(cpu) / "topology" / file, run_of(cpu, each));
  }
  void nodes(int each) {
    for (int cpu = 0; cpu < cpus_; ++cpu) {
      const auto node = root_ / "node" / ("node" + std::to_string(cpu / each));
      write(node / "cpulist", run_of(cpu, each));
      std::filesystem::create_directories(cpu_folder(cpu));
      std::filesystem::create_directory_symlink(node, cpu_folder(cpu) / node.filename());
    }
  }
  void caches(int index, int level, int each) {
    for (int cpu = 0; cpu < cpus_; ++cpu) {
      const auto cache = cpu_folder(cpu) / "cache" / ("index" + std::to_string(index));
      write(cache / "level", std::to_string(level) + "\n");
      write(cache / "shared_cpu_list", run_of(cpu, each));
    }
  }

  [[nodiscard]] CpuPlace place(const char* cpus) const {
    return place_of(detail::parse_cpu_list(cpus).cpus, root_.string());
  }
  /// Of a rank on each of these CPUs.
  [[nodiscard]] Domains divided(const std::vector<const char*>& ranks) const {
    std::vector<CpuPlace> places;
    for (const char* cpus : ranks) places.push_back(place(cpus));
    return divide(places);
  }

 private:
  [[nodiscard]] std::filesystem::path cpu_folder(int cpu) const {
    return root_ / "cpu" / ("cpu" + std::to_string(cpu));
  }
  static std::string run_of(int cpu, int each) {
    const int first = cpu / each * each;
    return each == 1 ? std::to_string(first) + "\n"
                     : std::to_string(first) + "-" + std::to_string(first + each - 1) + "\n";
  }
  static void write(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  int cpus_;
  std::filesystem::path root_;
};

/// Two sockets of eight cores, in each two caches of four.
void make_two_sockets(Sysfs& machine) {
  machine.packages(8);
  machine.nodes(8);
  machine.caches(0, 1, 1);
  machine.caches(1, 1, 1);
  machine.caches(2, 2, 1);
  machine.caches(3, 3, 4);
}

void expect_domains(const Domains& domains, int count, int near, DomainKind kind) {
  EXPECT_EQ(domains.count, count) << domains.why_one;
  EXPECT_EQ(domains.near, near);
  EXPECT_STREQ(name_of(domains.kind), name_of(kind));
  EXPECT_EQ(domains.why_one, "");
}
void expect_one_domain(const Domains& domains, std::size_t ranks, const std::string& word) {
  EXPECT_EQ(domains.count, 1);
  EXPECT_EQ(domains.near, static_cast<int>(ranks));
  EXPECT_NE(domains.why_one.find(word), std::string::npos) << domains.why_one;
}

TEST(Places, AreNamedByTheFirstCpuOfWhatHoldsAllOfMine) {
  Sysfs machine(16);
  make_two_sockets(machine);
  const auto bound = machine.place("13");
  EXPECT_EQ((std::array{bound.package, bound.node, bound.cache}), (std::array{8, 8, 12}));
  const auto wide = machine.place("8-15");
  EXPECT_EQ((std::array{wide.package, wide.node, wide.cache}), (std::array{8, 8, CpuPlace::several}));
  const auto loose = machine.place("0-15");
  EXPECT_EQ((std::array{loose.package, loose.node, loose.cache}),
            (std::array{CpuPlace::several, CpuPlace::several, CpuPlace::several}));
  const auto nowhere = machine.place("40");
  EXPECT_EQ(nowhere.package, CpuPlace::unknown) << "no such files";
  EXPECT_EQ(machine.place("").cache, CpuPlace::unknown) << "no CPU";
}

TEST(Places, OfOlderSystems) {
  Sysfs machine(4);
  machine.packages(2, "core_siblings_list");
  EXPECT_EQ(machine.place("3").package, 2);
  EXPECT_EQ(machine.place("3").node, CpuPlace::unknown);
}

/// Bound to one CPU, a thread is in one place of every kind, if the system tells of it: that of this CPU.
TEST(Places, OfAThreadAreThoseOfItsCpus) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CpuPlace mine;
    int bound = -1;
    std::thread([&] {
      bound = ::sched_setaffinity(0, sizeof one, &one);
      mine = my_place();
    }).join();
    ASSERT_EQ(bound, 0);
    const CpuPlace expected = place_of(one, "/sys/devices/system");
    EXPECT_EQ((std::array{mine.package, mine.node, mine.cache}),
              (std::array{expected.package, expected.node, expected.cache}));
    for (const int place : {mine.package, mine.node, mine.cache}) EXPECT_NE(place, CpuPlace::several) << "CPU " << cpu;
  }
}

TEST(Ranks, AreDividedByTheLargestPartsThatTheyAreSpreadOver) {
  Sysfs machine(16);
  make_two_sockets(machine);
  expect_domains(machine.divided({"0", "1", "8", "9"}), 2, 2, DomainKind::package);
  expect_domains(machine.divided({"0-7", "0-7", "8-15", "8-15"}), 2, 2, DomainKind::package);
  expect_domains(machine.divided({"0", "1", "4", "5"}), 2, 2, DomainKind::cache);
  expect_domains(machine.divided({"0", "4", "8", "12"}), 2, 2, DomainKind::package);
  Sysfs quarters(16);
  quarters.packages(16);
  quarters.nodes(4);
  quarters.caches(0, 3, 2);
  expect_domains(quarters.divided({"0", "1", "4", "5", "8", "9", "12", "13"}), 4, 2, DomainKind::node);
  expect_domains(quarters.divided({"0", "1", "2", "3"}), 2, 2, DomainKind::cache);
}

TEST(Ranks, ThatCannotBeDividedAreOneDomainWithTheReason) {
  Sysfs machine(16);
  make_two_sockets(machine);
  expect_one_domain(machine.divided({"0", "1", "2", "3"}), 4, "all ranks are in one last-level cache");
  expect_one_domain(machine.divided({"0-15", "0-15"}), 2, "rank 0 may run in more than one package");
  expect_one_domain(machine.divided({"0", "8-15", "2-9"}), 3, "rank 2 may run in more than one package");
  expect_one_domain(machine.divided({"0-7", "0-7"}), 2, "rank 0 may run in more than one last-level cache");
  expect_one_domain(machine.divided({"0", "8", "1", "9"}), 4,
                    "not consecutive or not equally many (0,8,0,8): place them with --map-by ppr:2:socket");
  expect_one_domain(machine.divided({"0", "1", "2", "8"}), 4, "(0,0,0,8)");
  expect_one_domain(machine.divided({"0", "8"}), 2, "every rank has a package of its own");
  expect_one_domain(machine.divided({"0"}), 1, "all ranks are in one");
  expect_one_domain(Sysfs(2).divided({"0", "1"}), 2, "does not tell");
}

TEST(Domains, ByHandMayHoldOneRankEach) {
  expect_domains(group(std::array{0, 1}, DomainKind::given), 2, 1, DomainKind::given);
  expect_domains(group(std::array{5, 5, 2, 2, 9, 9}, DomainKind::given), 3, 2, DomainKind::given);
  expect_one_domain(group(std::array{0, 0, 1, 1, 0, 0}, DomainKind::given), 6, "not consecutive");
  expect_one_domain(group(std::array{0, 0, 1, 1, 1}, DomainKind::given), 5, "not equally many (0,0,1,1,1)");
  EXPECT_EQ(group_given(std::array{0, 0, 1, 1}, 2).count, 1) << "a smaller team takes the first ones";
  expect_domains(group_given(std::array{0, 0, 1, 1}, 4), 2, 2, DomainKind::given);
}

TEST(Domains, InWords) {
  const std::array four{5, 5, 2, 2};
  EXPECT_EQ(to_string(group(four, DomainKind::package)), "2 domains (packages) of 2 ranks each");
  EXPECT_EQ(to_string(group(four, DomainKind::node)), "2 domains (NUMA nodes) of 2 ranks each");
  EXPECT_EQ(to_string(group(four, DomainKind::cache)), "2 domains (last-level caches) of 2 ranks each");
  EXPECT_EQ(to_string(group(four, DomainKind::given)), "2 domains (given by hand) of 2 ranks each");
  EXPECT_EQ(to_string(group(std::array{0, 1}, DomainKind::given)), "2 domains (given by hand) of 1 rank each");
  EXPECT_EQ(to_string(group(std::array{1, 1}, DomainKind::package)), "one: all ranks are in one package");
}

/// Advice that is followed must give what was missing: consecutive ranks, as many on each.
TEST(Advice, IsForThePartsThatWereMissed) {
  const auto advice = [](DomainKind kind, const std::vector<int>& ranks) {
    const std::string why = group(ranks, kind).why_one;
    return why.substr(why.find("): ") + 3);
  };
  const std::vector<int> in_turn{0, 32, 0, 32, 0, 32, 0, 32};
  EXPECT_EQ(advice(DomainKind::package, in_turn),
            "place them with --map-by ppr:4:socket --bind-to core (Open MPI 5: ppr:4:package)");
  EXPECT_EQ(advice(DomainKind::node, in_turn), "place them with --map-by ppr:4:numa --bind-to core");
  EXPECT_EQ(advice(DomainKind::cache, in_turn), "place them with --map-by core --bind-to core");
  EXPECT_EQ(advice(DomainKind::given, in_turn), "give consecutive ranks the same number, as many of them each");
  EXPECT_EQ(advice(DomainKind::package, {0, 0, 8, 8, 8}), "launch a multiple of 2 ranks");
  Sysfs machine(16);
  make_two_sockets(machine);
  expect_one_domain(machine.divided(std::vector<const char*>(8, "0-15")), 8,
                    "package: place them with --map-by ppr:4:socket");
  expect_one_domain(machine.divided({"0-7", "0-7", "0-7", "0-7"}), 4,
                    "cache: place them with --map-by core --bind-to core");
  expect_one_domain(machine.divided({"0-15", "0-15"}), 2, "package: bind them with --bind-to core");
}

/// Two levels move more than one: unmeasured, they answer only where crossing is surely dear.
TEST(BuiltInDefaults, KnowTwoLevelsOnlyBetweenSocketsNodesAndGivenDomains) {
  const auto know = [](const Domains& domains) {
    const auto names = names_for(domains);
    EXPECT_NE(std::ranges::find(names, "two_shot_write"), names.end());
    return std::ranges::find(names, "two_level") != names.end();
  };
  const std::array two_by_two{0, 0, 1, 1};
  EXPECT_TRUE(know(group(two_by_two, DomainKind::package)));
  EXPECT_TRUE(know(group(two_by_two, DomainKind::node)));
  EXPECT_TRUE(know(group(two_by_two, DomainKind::given)));
  EXPECT_FALSE(know(group(two_by_two, DomainKind::cache)));
  EXPECT_FALSE(know(group(std::array{0, 1}, DomainKind::given))) << "of one rank each";
  EXPECT_FALSE(know(group(std::array{0, 0}, DomainKind::package)));
  const auto& two_level = variant("two_level");
  EXPECT_EQ(why_not(two_level, group(two_by_two, DomainKind::cache)), "") << "a sweep measures it there";
  EXPECT_EQ(why_not(two_level, group(std::array{0, 0}, DomainKind::cache)),
            "needs ranks in several domains: all ranks are in one last-level cache");
}

TEST(CpuLists, AreReadOrRefusedAsAWhole) {
  const auto list = detail::parse_cpu_list("2-3,8,70-71\n");
  EXPECT_EQ(list.first, 2);
  EXPECT_EQ(CPU_COUNT(&list.cpus), 5);
  EXPECT_TRUE(CPU_ISSET(71, &list.cpus));
  for (const char* bad : {"", "\n", "x", "3-", "3-1", "1,,2", "-1", "1 2", "0-99999", "1;2"})
    EXPECT_EQ(detail::parse_cpu_list(bad).first, -1) << bad;
}

/// The status and text that every rank of such a team gets.
std::string why_not_two_levels(const std::vector<Options>& of_ranks) {
  auto bootstraps = make_local_bootstraps(static_cast<int>(of_ranks.size()));
  std::vector<std::string> texts(of_ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < of_ranks.size(); ++r)
    threads.emplace_back([&, r] {
      try {
        const Communicator comm(std::move(bootstraps[r]), of_ranks[r]);
        texts[r] = comm.why_not("two_level");
      } catch (const Error& error) {
        texts[r] = (error.status() == Status::usage ? "usage: " : "other: ") + std::string(error.what());
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(texts.front(), texts.back()) << "all ranks say the same";
  return texts.front();
}
Options in_domains(std::vector<int> domains) {
  Options options;
  options.table = "none";
  options.domains = std::move(domains);
  return options;
}

TEST(TwoLevels, NeedSeveralDomains) {
  EXPECT_EQ(why_not_two_levels({in_domains({0, 1}), in_domains({0, 1})}), "");
  EXPECT_EQ(why_not_two_levels({in_domains({7, 7}), in_domains({7, 7})}),
            "needs ranks in several domains: all ranks are in one given domain");
  EXPECT_EQ(why_not_two_levels({in_domains({0, 0, 1, 1}), in_domains({0, 0, 1, 1})}),
            "needs ranks in several domains: all ranks are in one given domain")
      << "a smaller team takes the first ones";
  EXPECT_NE(why_not_two_levels({in_domains({0, 1}), in_domains({0, 0})})
                .find("usage: rank 1 made this communicator with other"),
            std::string::npos);
  EXPECT_NE(
      why_not_two_levels({in_domains({0}), in_domains({0})}).find("names the domains of 1 ranks, this team has 2"),
      std::string::npos);
}

TEST(GivenDomains, AreAListOfNumbersOrBadUsage) {
  const auto read = [](const char* text, int ranks) {
    ::setenv("ATTUNE_DOMAINS", text, 1);
    std::vector<int> domains;
    std::string error;
    try {
      domains = domains_from_environment(ranks);
    } catch (const Error& fault) {
      EXPECT_EQ(fault.status(), Status::usage);
      error = fault.what();
    }
    ::unsetenv("ATTUNE_DOMAINS");
    return std::pair(domains, error);
  };
  EXPECT_EQ(read("0,0,12,12", 4).first, (std::vector{0, 0, 12, 12}));
  EXPECT_EQ(read("3", 1).first, std::vector{3});
  EXPECT_EQ(read("", 4).first, std::vector<int>{});
  for (const char* bad : {"x", "0,x", "0,,1", ",0", "0,1,", "-1,0", "0 1", "0;1", "99999999999,0", "0.5,1"}) {
    const auto error = read(bad, 2).second;
    EXPECT_NE(error.find(std::string("ATTUNE_DOMAINS=") + bad + " is not a list of domains"), std::string::npos)
        << error;
  }
  EXPECT_NE(read("0,1", 3).second.find("the domains of 2 ranks, this team has 3"), std::string::npos);
}

}  // namespace
}  // namespace attune::host
