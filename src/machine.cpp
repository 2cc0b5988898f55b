#include "src/machine.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "core/error.h"
#include "src/units.h"

namespace attune::driver {

namespace {

/// hwloc's view of the machine, for the length of one description.
class Topology {
 public:
  Topology() {
    if (hwloc_topology_init(&topology_) != 0) throw Error(Status::internal, "hwloc cannot be initialised");
    hwloc_topology_set_io_types_filter(topology_, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(topology_) != 0) {
      hwloc_topology_destroy(topology_);
      throw Error(Status::internal, "hwloc cannot read this machine's topology");
    }
  }
  ~Topology() { hwloc_topology_destroy(topology_); }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;

  [[nodiscard]] hwloc_topology_t get() const { return topology_; }
  [[nodiscard]] int count(hwloc_obj_type_t type) const { return hwloc_get_nbobjs_by_type(topology_, type); }
  [[nodiscard]] hwloc_obj_t root() const { return hwloc_get_root_obj(topology_); }

 private:
  hwloc_topology_t topology_ = nullptr;
};

std::string cpu_list(hwloc_const_bitmap_t set) {
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, set) < 0) return "?";
  const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
  return text;
}

Json describe_caches(const Topology& topology) {
  Json caches = Json::array();
  for (const auto type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
    const hwloc_obj_t first = hwloc_get_obj_by_type(topology.get(), type, 0);
    if (first == nullptr) continue;
    caches.push_back({{"name", fmt::format("L{}", first->attr->cache.depth)},
                      {"bytes", first->attr->cache.size},
                      {"count", topology.count(type)},
                      {"cpus_each", hwloc_bitmap_weight(first->cpuset)}});
  }
  return caches;
}

/// What one line of the tree says of an object; empty for levels that say nothing here.
std::string describe(hwloc_obj_t object) {
  switch (object->type) {
    case HWLOC_OBJ_MACHINE:
      return "machine, CPUs " + cpu_list(object->cpuset);
    case HWLOC_OBJ_PACKAGE:
      return fmt::format("package {}, CPUs {}", object->logical_index, cpu_list(object->cpuset));
    case HWLOC_OBJ_L3CACHE:
      return fmt::format("L3 {} of {}, CPUs {}", object->logical_index,
                         readable_bytes(static_cast<Bytes>(object->attr->cache.size)), cpu_list(object->cpuset));
    case HWLOC_OBJ_CORE:
      return fmt::format("core {}, CPUs {}", object->logical_index, cpu_list(object->cpuset));
    default:
      return {};
  }
}

void add_tree(hwloc_obj_t object, int depth, Json& lines) {
  const std::string line = describe(object);
  for (hwloc_obj_t memory = object->memory_first_child; memory != nullptr; memory = memory->next_sibling)
    if (memory->type == HWLOC_OBJ_NUMANODE)
      lines.push_back(fmt::format("{:{}}NUMA node {}, {}, CPUs {}", "", 2 * depth, memory->logical_index,
                                  readable_bytes(static_cast<Bytes>(memory->attr->numanode.local_memory)),
                                  cpu_list(memory->cpuset)));
  if (!line.empty()) lines.push_back(std::string(static_cast<std::size_t>(2 * depth), ' ') + line);
  for (unsigned i = 0; i < object->arity; ++i) add_tree(object->children[i], depth + (line.empty() ? 0 : 1), lines);
}

/// Display and compute accelerators on the bus, whether or not this build can use them.
Json gpus_on_pci(const Topology& topology) {
  Json gpus = Json::array();
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_pcidev(topology.get(), device)) != nullptr;) {
    const auto& pci = device->attr->pcidev;
    if (pci.class_id >> 8 != 0x03) continue;  // display controllers: VGA, 3D
    const char* vendor = hwloc_obj_get_info_by_name(device, "PCIVendor");
    const char* name = hwloc_obj_get_info_by_name(device, "PCIDevice");
    gpus.push_back(fmt::format("{:04x}:{:02x}:{:02x} {} {}", pci.domain, pci.bus, pci.dev,
                               vendor != nullptr ? vendor : fmt::format("vendor {:04x}", pci.vendor_id),
                               name != nullptr ? name : fmt::format("device {:04x}", pci.device_id)));
  }
  return gpus;
}

Json dev_shm() {
  struct statvfs space {};
  if (::statvfs("/dev/shm", &space) != 0) return {{"bytes", 0}, {"free_bytes", 0}};
  const auto block = static_cast<Bytes>(space.f_frsize);
  return {{"bytes", static_cast<Bytes>(space.f_blocks) * block},
          {"free_bytes", static_cast<Bytes>(space.f_bavail) * block}};
}

}  // namespace

std::string allowed_cpus() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return "?";
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> set(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mine)) hwloc_bitmap_set(set.get(), cpu);
  return cpu_list(set.get());
}

Json describe_machine() {
  const Topology topology;
  utsname system{};
  ::uname(&system);
  Json tree = Json::array();
  add_tree(topology.root(), 0, tree);
  return {{"host", system.nodename},
          {"kernel", fmt::format("{} {} {}", system.sysname, system.release, system.machine)},
          {"packages", topology.count(HWLOC_OBJ_PACKAGE)},
          {"numa_nodes", topology.count(HWLOC_OBJ_NUMANODE)},
          {"cores", topology.count(HWLOC_OBJ_CORE)},
          {"cpus", topology.count(HWLOC_OBJ_PU)},
          {"allowed_cpus", allowed_cpus()},
          {"memory_bytes", topology.root()->total_memory},
          {"caches", describe_caches(topology)},
          {"tree", std::move(tree)},
          {"gpus_on_pci", gpus_on_pci(topology)},
          {"dev_shm", dev_shm()}};
}

}  // namespace attune::driver
