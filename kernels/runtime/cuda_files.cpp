#include "runtime/cuda_files.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "runtime/cuda_check.h"

namespace attune::cuda {

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

namespace {
constexpr int patience_ms = 30'000;
using Name = std::array<char, 64>;

[[noreturn]] void refuse(const char* call) {
  throw Error(Status::device, fmt::format("{}: {}", call, std::strerror(errno)));
}

/// A name of the abstract namespace: nothing is left behind in a folder.
sockaddr_un address_of(const Name& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return address;
}
constexpr socklen_t address_length = offsetof(sockaddr_un, sun_path) + 1 + sizeof(Name);

File open_socket(const Name& name) {
  File socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(name);
  if (socket.get() < 0) refuse("socket");
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), address_length) != 0) refuse("bind");
  return socket;
}

/// A message of one integer, with room for a file beside it.
struct Message {
  int rank = 0;
  iovec part{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
  Message() {
    part = {&rank, sizeof rank};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
};

void send_file(const File& socket, const Name& to, int rank, const File& file) {
  Message message;
  message.rank = rank;
  sockaddr_un address = address_of(to);
  message.header.msg_name = &address;
  message.header.msg_namelen = address_length;
  cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  const int descriptor = file.get();
  std::memcpy(CMSG_DATA(control), &descriptor, sizeof descriptor);
  if (::sendmsg(socket.get(), &message.header, 0) < 0) refuse("sendmsg");
}

void receive_file(const File& socket, std::vector<File>& files) {
  pollfd ready{socket.get(), POLLIN, 0};
  if (::poll(&ready, 1, patience_ms) != 1)
    throw Error(Status::device, "a peer's memory handle has not come; are the ranks in one network namespace?");
  Message message;
  if (::recvmsg(socket.get(), &message.header, MSG_CMSG_CLOEXEC) < 0) refuse("recvmsg");
  const cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  if (control == nullptr || control->cmsg_type != SCM_RIGHTS || message.rank < 0 ||
      message.rank >= static_cast<int>(files.size()))
    throw Error(Status::device, "a message that is none of a peer's");
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(control), sizeof descriptor);
  files[static_cast<std::size_t>(message.rank)] = File(descriptor);
}
}  // namespace

std::vector<File> exchange_files(Bootstrap& bootstrap, const File& mine) {
  static std::atomic<unsigned> serial{0};
  Name name{};
  fmt::format_to_n(name.data(), name.size() - 1, "attune-{}-{}", ::getpid(), serial.fetch_add(1));
  const auto names = bootstrap.gather(name);
  const auto offers = bootstrap.gather(mine.get() >= 0 ? 1 : 0);
  std::vector<File> files(names.size());
  File socket;
  throw_together(bootstrap, attempt([&] { socket = open_socket(name); }), {});
  const std::string fault = attempt([&] {
    int expected = 0;
    for (int r = 0; r < bootstrap.size(); ++r) {
      if (r == bootstrap.rank()) continue;
      if (mine.get() >= 0) send_file(socket, names[static_cast<std::size_t>(r)], bootstrap.rank(), mine);
      expected += offers[static_cast<std::size_t>(r)];
    }
    for (; expected > 0; --expected) receive_file(socket, files);
  });
  throw_together(bootstrap, fault, {});
  return files;
}

}  // namespace attune::cuda
