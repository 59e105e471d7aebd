#include "reduce.h"

#include <array>

#include "requests.h"
#include "slices.h"

namespace lockstep::comm::mpi {
namespace {

constexpr int kInputsTag = 0;
constexpr int kResultsTag = 1;

// Blocks and pieces are multiples of it, so that no element lies across two.
constexpr std::size_t kLineBytes = 64;

// Up to this size of all ranks' elements together, few messages matter more than few bytes.
constexpr std::size_t kWholeBytes = 64 * 1024;

// Pieces under way at a time: while one is reduced, another moves. More, or smaller ones, were slower on Open MPI,
// where each message between processes of a machine is a system call (1 MB on 2 ranks: 1.3 times the time with 128 KB).
constexpr std::size_t kDepth = 2;
constexpr std::size_t kLargestPiece = 512 * 1024;
constexpr std::size_t kSmallestPiece = 16 * 1024;
constexpr std::size_t kReceivedBytes = 16 * 1024 * 1024;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::size_t piece_bytes(int ranks) {
  return std::clamp(kReceivedBytes / kDepth / static_cast<std::size_t>(ranks) / kLineBytes * kLineBytes, kSmallestPiece,
                    kLargestPiece);
}

Block bytes_of(const Elements& elements, const Reduction& reduction) {
  return {static_cast<std::byte*>(elements.data), static_cast<std::size_t>(elements.count) * reduction.element_bytes};
}

std::byte* received(Reducer& reducer, std::size_t bytes) {
  if (reducer.received.size() < bytes) reducer.received.resize(bytes);
  return reducer.received.data();
}

// Every rank gets the elements of all, in as many rounds as doubling takes (Bruck's all-gather), and reduces them.
void reduce_whole(Reducer& reducer, Block block, const Reduction& reduction, const Patience& patience) {
  const int ranks = reducer.communicator.size(), self = reducer.communicator.rank();
  std::byte* all = received(reducer, block.bytes * static_cast<std::size_t>(ranks));  // from this rank on, round
  std::copy_n(block.data, block.bytes, all);
  for (int known = 1; known < ranks; known *= 2) {
    const std::size_t bytes = static_cast<std::size_t>(std::min(known, ranks - known)) * block.bytes;
    const std::array messages = {
        Message{Message::kReceive, (self + known) % ranks, all + static_cast<std::size_t>(known) * block.bytes, bytes},
        Message{Message::kSend, (self + ranks - known) % ranks, all, bytes}};
    Requests requests;
    requests.start(reducer.communicator.get(), messages, kInputsTag);
    requests.wait(patience);
  }
  std::vector<const std::byte*> sources(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    sources[static_cast<std::size_t>(rank)] =
        all + static_cast<std::size_t>((rank - self + ranks) % ranks) * block.bytes;
  }
  reduction.kernel(block.data, sources.data(), ranks, block.bytes / reduction.element_bytes);
}

constexpr int kNobody = -1;
constexpr int kEverybody = -2;

// Each rank receives the pieces of its own block from all others, reduces them into `output`, and where they are wanted
// by others, sends them the result.
class SlicedReduction {
 public:
  SlicedReduction(Reducer& reducer, const Slices& slices, std::size_t piece_bytes, std::byte* output, int wanted_by,
                  const Reduction& reduction)
      : communicator_(reducer.communicator),
        slices_(slices),
        piece_bytes_(piece_bytes),
        received_(mpi::received(reducer, kDepth * peers() * piece_bytes)),
        output_(output),
        wanted_by_(wanted_by),
        reduction_(reduction) {}

  void run(const Patience& patience) {
    for (std::size_t i = 0; i < slices_.count() + kDepth; ++i) {
      if (i < slices_.count()) {
        results_[i % kDepth].wait(patience);
        start_inputs(i);
      }
      // Reduces what came longest ago, as the others move.
      if (i + 1 >= kDepth && i + 1 - kDepth < slices_.count()) {
        const std::size_t oldest = i + 1 - kDepth;
        inputs_[oldest % kDepth].wait(patience);
        reduce(oldest);
        start_results(oldest);
      }
    }
    for (Requests& requests : results_) requests.wait(patience);
  }

 private:
  std::size_t peers() const { return static_cast<std::size_t>(communicator_.size() - 1); }
  // Each begins with another one, so that no rank is asked by all at once.
  int peer(std::size_t number) const {
    return (communicator_.rank() + 1 + static_cast<int>(number)) % communicator_.size();
  }
  std::byte* place(std::size_t piece, std::size_t number) const {
    return received_ + ((piece % kDepth) * peers() + number) * piece_bytes_;
  }

  void add(Message::Direction direction, int rank, std::byte* data, std::size_t bytes) {
    if (bytes != 0) messages_.push_back({direction, rank, data, bytes});
  }

  void start_inputs(std::size_t piece) {
    messages_.clear();
    const std::size_t own_bytes = slices_.piece(communicator_.rank(), piece).bytes;
    for (std::size_t i = 0; i < peers(); ++i) {
      add(Message::kReceive, peer(i), place(piece, i), own_bytes);
      const Block sent = slices_.piece(peer(i), piece);
      add(Message::kSend, peer(i), sent.data, sent.bytes);
    }
    inputs_[piece % kDepth].start(communicator_.get(), messages_, kInputsTag);
  }

  void reduce(std::size_t piece) {
    const int self = communicator_.rank();
    const Block own = slices_.piece(self, piece);
    if (own.bytes == 0) return;
    sources_.resize(peers() + 1);
    sources_[static_cast<std::size_t>(self)] = own.data;
    for (std::size_t i = 0; i < peers(); ++i) sources_[static_cast<std::size_t>(peer(i))] = place(piece, i);
    reduction_.kernel(result(piece).data, sources_.data(), communicator_.size(), own.bytes / reduction_.element_bytes);
  }

  Block result(std::size_t piece) const {
    const Block own = slices_.piece(communicator_.rank(), piece);
    return {output_ + piece * piece_bytes_, own.bytes};
  }

  void start_results(std::size_t piece) {
    messages_.clear();
    const Block own = result(piece);
    for (std::size_t i = 0; i < peers(); ++i) {
      if (wanted_by_ == kEverybody || wanted_by_ == peer(i)) add(Message::kSend, peer(i), own.data, own.bytes);
      if (wanted_by_ == kEverybody || wanted_by_ == communicator_.rank()) {
        const Block theirs = slices_.piece(peer(i), piece);
        add(Message::kReceive, peer(i), theirs.data, theirs.bytes);
      }
    }
    results_[piece % kDepth].start(communicator_.get(), messages_, kResultsTag);
  }

  const Communicator& communicator_;
  const Slices& slices_;
  std::size_t piece_bytes_;
  std::byte* received_;
  std::byte* output_;
  int wanted_by_;
  const Reduction& reduction_;
  std::vector<Message> messages_;
  std::vector<const std::byte*> sources_;
  std::array<Requests, kDepth> inputs_, results_;
};

void reduce_for(int wanted_by, Reducer& reducer, Elements elements, const Reduction& reduction,
                const Patience& patience) {
  const Block all = bytes_of(elements, reduction);
  const auto ranks = static_cast<std::size_t>(reducer.communicator.size());
  if (all.bytes == 0) return;
  if (all.bytes * ranks <= kWholeBytes) return reduce_whole(reducer, all, reduction, patience);
  const std::size_t piece = piece_bytes(reducer.communicator.size());
  const Slices slices(all, round_up((all.bytes + ranks - 1) / ranks, kLineBytes), piece);
  SlicedReduction(reducer, slices, piece, slices.piece(reducer.communicator.rank(), 0).data, wanted_by, reduction)
      .run(patience);
}

}  // namespace

void all_reduce(Reducer& reducer, Elements elements, const Reduction& reduction, const Patience& patience) {
  reduce_for(kEverybody, reducer, elements, reduction, patience);
}

void reduce(Reducer& reducer, Elements elements, const Reduction& reduction, int root, const Patience& patience) {
  reduce_for(root, reducer, elements, reduction, patience);
}

void reduce_scatter(Reducer& reducer, Elements input, Elements output, const Reduction& reduction,
                    const Patience& patience) {
  const std::size_t piece = piece_bytes(reducer.communicator.size());
  const Slices slices(bytes_of(input, reduction), bytes_of(output, reduction).bytes, piece);
  SlicedReduction(reducer, slices, piece, static_cast<std::byte*>(output.data), kNobody, reduction).run(patience);
}

}  // namespace lockstep::comm::mpi
