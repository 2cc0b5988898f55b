#include "src/sweep_world.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "runtime/mpi_bootstrap.h"
#include "src/measure_meeting.h"

namespace attune::driver {

std::string from_rank_0(MpiSession& session, const std::function<std::string()>& make) {
  std::array<int, 2> head{};  // status, length
  std::string text;
  if (session.rank() == 0) {
    try {
      text = make();
    } catch (const Error& error) {
      head[0] = static_cast<int>(error.status());
      text = error.what();
    } catch (const std::exception& error) {
      head[0] = static_cast<int>(Status::internal);
      text = error.what();
    }
    head[1] = static_cast<int>(text.size());
  }
  check_mpi(MPI_Bcast(head.data(), 2, MPI_INT, 0, session.world()), "MPI_Bcast");
  text.resize(static_cast<std::size_t>(head[1]));
  check_mpi(MPI_Bcast(text.data(), head[1], MPI_CHAR, 0, session.world()), "MPI_Bcast");
  if (head[0] != 0) throw Error(static_cast<Status>(head[0]), text);
  return text;
}

std::vector<std::string> gather_texts(MpiSession& session, const std::string& mine) {
  constexpr std::size_t width = 256;
  std::array<char, width> text{};
  mine.copy(text.data(), width - 1);
  std::vector<std::array<char, width>> all(static_cast<std::size_t>(session.size()));
  check_mpi(MPI_Allgather(text.data(), width, MPI_CHAR, all.data(), width, MPI_CHAR, session.world()), "MPI_Allgather");
  std::vector<std::string> texts;
  for (const auto& one : all) texts.emplace_back(one.data());
  return texts;
}

void quiet_barrier(MPI_Comm comm, double limit_s) {
  const double start_s = now_s();
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(comm, &request), "MPI_Ibarrier");
  for (int done = 0; done == 0;) {
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (done != 0) return;
    if (limit_s > 0 && now_s() - start_s > limit_s)
      throw Error(Status::timeout, "a rank that does not take part did not come to the end of this rank count",
                  "look for a rank that hangs");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

MPI_Comm first_ranks(MpiSession& session, int count) {
  MPI_Comm comm = MPI_COMM_NULL;
  const int color = session.rank() < count ? 0 : MPI_UNDEFINED;
  check_mpi(MPI_Comm_split(session.world(), color, session.rank(), &comm), "MPI_Comm_split");
  return comm;
}

}  // namespace attune::driver
