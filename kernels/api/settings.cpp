#include "api/settings.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "api/limits.h"
#include "core/hardware.h"
#include "dispatch/find.h"
#include "runtime/cuda_device.h"
#include "variants/registry.h"

namespace attune {

namespace {
void require_domain_for_each(std::size_t domains, int ranks, const std::string& where) {
  if (domains < static_cast<std::size_t>(ranks))
    throw Error(
        Status::usage,
        where + " names the domains of " + std::to_string(domains) + " ranks, this team has " + std::to_string(ranks),
        "give one for every rank");
}

Settings read_settings(const Options& options, int ranks) {
  const auto numerics = static_cast<std::size_t>(options.numerics);
  if (numerics >= all_of<Numerics>().size())  // C has no enum that holds
    throw Error(Status::usage, "options: numerics is " + std::to_string(numerics), "use a class of attune's headers");
  const auto device = static_cast<std::size_t>(options.device);
  if (device >= all_of<DeviceKind>().size())
    throw Error(Status::usage, "options: unknown device " + std::to_string(device), "use host or cuda");
  Settings settings;
  settings.timeout_s = options.timeout_s >= 0 ? options.timeout_s : timeout_from_environment(settings.timeout_s);
  const std::string log = process_environment("ATTUNE_LOG");
  if (!log.empty() && log != "dispatch" && log != "none")
    throw Error(Status::usage, "ATTUNE_LOG=" + log + " is unknown", "use dispatch or none");
  settings.log_dispatch = log == "dispatch";
  settings.domains = options.domains.empty() ? domains_from_environment(ranks) : options.domains;
  if (!options.domains.empty()) require_domain_for_each(options.domains.size(), ranks, "options: domains");
  return settings;
}

constexpr auto known_variants = all_variant_names();

/// Ranks of one process are streams of one GPU.
Hardware hardware_of(DeviceKind device, const Bootstrap& bootstrap) {
  if (device == DeviceKind::host) return host_hardware();
  return cuda::hardware(bootstrap.one_process() ? bootstrap.size() : 0);
}

/// What rank 0 tells the others before the text.
struct Header {
  int status = 0;  ///< Status of an error, whose text follows; 0 = a table.
  std::size_t length = 0;
};

/// Rank 0's text on every rank. Collective.
std::string broadcast(Bootstrap& bootstrap, const std::string& mine, std::size_t length) {
  std::string send = mine;
  send.resize(length);
  std::string all(length * static_cast<std::size_t>(bootstrap.size()), '\0');
  bootstrap.allgather(send.data(), all.data(), length);
  return all.substr(0, length);
}
}  // namespace

double timeout_from_environment(double otherwise) {
  const std::string limit = process_environment("ATTUNE_TIMEOUT_S");
  if (limit.empty()) return otherwise;
  char* end = nullptr;
  const double seconds = std::strtod(limit.c_str(), &end);
  if (*end != '\0' || !(seconds >= 0))
    throw Error(Status::usage, "ATTUNE_TIMEOUT_S=" + limit + " is not a number of seconds",
                "give 0 (no limit) or more");
  return seconds;
}

std::vector<int> domains_from_environment(int ranks) {
  const std::string text = process_environment("ATTUNE_DOMAINS");
  std::vector<int> domains;
  for (const char *at = text.data(), *end = at + text.size(); at < end;) {
    const auto read = std::from_chars(at, end, domains.emplace_back());
    const bool more = read.ptr + 1 < end && *read.ptr == ',';
    if (read.ec != std::errc{} || domains.back() < 0 || (read.ptr < end && !more))
      throw Error(Status::usage, "ATTUNE_DOMAINS=" + text + " is not a list of domains",
                  "give a number for every rank, such as 0,0,1,1");
    at = read.ptr + (more ? 1 : 0);
  }
  if (!domains.empty()) require_domain_for_each(domains.size(), ranks, "ATTUNE_DOMAINS");
  return domains;
}

Settings agree_on_settings(Bootstrap& bootstrap, const Options& options) {
  struct Note {
    int status = 0;
    std::array<char, 380> text{};
  } mine;
  Settings settings;
  try {
    settings = read_settings(options, bootstrap.size());
  } catch (const Error& error) {  // the others are waiting for a word
    mine.status = static_cast<int>(error.status());
    std::string(error.what()).copy(mine.text.data(), mine.text.size() - 1);
  }
  const auto all = bootstrap.gather(mine);
  for (std::size_t r = 0; r < all.size(); ++r)
    if (all[r].status != 0)
      throw Error(static_cast<Status>(all[r].status), "rank " + std::to_string(r) + ": " + all[r].text.data());
  return settings;
}

AgreedTable agree_on_table(Bootstrap& bootstrap, const Options& options) {
  Header header;
  std::string text;
  if (bootstrap.rank() == 0) {
    try {
      const auto found = find_and_load_table(options.table, hardware_of(options.device, bootstrap),
                                             limits_of(options.device, known_variants), options.strict,
                                             process_environment, ATTUNE_PREFIX);
      text = found.file.path + '\0' + found.warning + '\0' + (found.file.path.empty() ? "" : to_text(found.table));
    } catch (const Error& error) {
      header.status = static_cast<int>(error.status());
      text = error.what();
    } catch (const std::exception& error) {  // the others are waiting for a word, whatever happened
      header.status = static_cast<int>(Status::internal);
      text = error.what();
    }
    header.length = text.size();
  }
  header = bootstrap.gather(header).front();
  text = broadcast(bootstrap, text, header.length);
  if (header.status != 0) throw Error(static_cast<Status>(header.status), text);
  AgreedTable agreed;
  agreed.path = text.substr(0, text.find('\0'));
  const std::string rest = text.substr(agreed.path.size() + 1);
  agreed.warning = rest.substr(0, rest.find('\0'));
  const std::string json = rest.substr(agreed.warning.size() + 1);
  if (!json.empty()) agreed.table = parse_table(json, agreed.path, limits_of(options.device, known_variants));
  return agreed;
}

}  // namespace attune
