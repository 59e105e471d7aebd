// Conformance of what moves tensors unchanged: broadcast, gather, scatter, all-to-all, messages; and of values.
#include <numeric>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <lockstep/base/errors.h>

#include "oracle.h"
#include "world.h"

namespace lockstep::test {
namespace {

using ::testing::IsEmpty;

int rank() {
  return world().rank();
}
int size() {
  return world().size();
}

TEST(Broadcast, CopiesTheRootsTensorOfEveryType) {
  for (const at::ScalarType type : reduced_types()) {
    for (int root = 0; root < size(); ++root) {
      const at::Tensor tensor = input_tensor(rank(), 5003, type);
      world().broadcast(tensor, root);
      EXPECT_TRUE(at::equal(tensor, input_tensor(root, 5003, type)));
    }
  }
}

TEST(Broadcast, TakesEmptyAndLargeTensors) {
  world().broadcast(zeros({0}));
  const at::Tensor large = full({3'000'001}, rank(), at::kDouble);
  world().broadcast_async(large, size() - 1).wait();
  EXPECT_TRUE(large.eq(size() - 1).all().item<bool>());
}

TEST(ShareMemory, ShowsWhatEachRankWritesToAll) {
  for (const std::int64_t count : {std::int64_t{5}, std::int64_t{3'000'001}}) {
    const std::vector<at::Tensor> all = world().share_memory({count}, at::kFloat);
    ASSERT_EQ(std::ssize(all), size());
    for (const at::Tensor& tensor : all) EXPECT_TRUE(tensor.eq(0).all().item<bool>());
    world().barrier();
    for (const at::Tensor& tensor : all) tensor[rank()].fill_(1 + rank());
    all[static_cast<std::size_t>(rank())][count - 1].fill_(100 + rank());
    world().barrier();
    for (int r = 0; r < size(); ++r) {
      const at::Tensor& tensor = all[static_cast<std::size_t>(r)];
      for (int writer = 0; writer < size(); ++writer) EXPECT_EQ(tensor[writer].item<int>(), 1 + writer);
      EXPECT_EQ(tensor[count - 1].item<int>(), 100 + r);
    }
    world().barrier();
  }
}

TEST(AllGather, TakesUnequalShapes) {
  const auto shape_of = [](int r) { return std::vector<std::int64_t>{r, 2 + r}; };  // rank 0 has nothing
  const std::vector<at::Tensor> all = world().all_gather(full(shape_of(rank()), rank(), at::kInt));
  ASSERT_EQ(std::ssize(all), size());
  for (int r = 0; r < size(); ++r) {
    EXPECT_EQ(all[static_cast<std::size_t>(r)].sizes(), at::IntArrayRef(shape_of(r)));
    EXPECT_TRUE(all[static_cast<std::size_t>(r)].eq(r).all().item<bool>());
  }
}

TEST(AllGather, LaysTheInputsEndToEnd) {
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{400'003}}) {
    const at::Tensor output = zeros({size() * count}, at::kFloat);
    world().all_gather_into(output, input_tensor(rank(), count, at::kFloat));
    for (int r = 0; r < size(); ++r) {
      EXPECT_TRUE(at::equal(output.narrow(0, r * count, count), input_tensor(r, count, at::kFloat)));
    }
  }
}

// Several tensors in one operation, as code that speaks c10d asks for it.
TEST(AllGather, TakesSeveralTensorsAtOnce) {
  if (device().is_cuda()) return;  // not one of NCCL's verbs
  std::vector<at::Tensor> inputs{full({3}, rank()), full({2, 2}, rank(), at::kLong)};
  std::vector<std::vector<at::Tensor>> outputs;
  for (int r = 0; r < size(); ++r) outputs.push_back({full({3}, -1), full({2, 2}, -1, at::kLong)});
  world().process_group()->allgather_coalesced(outputs, inputs)->wait();
  for (int r = 0; r < size(); ++r) {
    for (const at::Tensor& tensor : outputs[static_cast<std::size_t>(r)]) {
      EXPECT_TRUE(tensor.eq(r).all().item<bool>());
    }
  }
  std::vector<at::Tensor> wide{full({3 * size()}, -1), full({2 * size(), 2}, -1, at::kLong)};
  world().process_group()->allgather_into_tensor_coalesced(wide, inputs)->wait();
  for (int r = 0; r < size(); ++r) {
    EXPECT_TRUE(wide[0].narrow(0, 3 * r, 3).eq(r).all().item<bool>());
    EXPECT_TRUE(wide[1].narrow(0, 2 * r, 2).eq(r).all().item<bool>());
  }
}

TEST(Gather, BringsAllToTheRoot) {
  for (int root = 0; root < size(); ++root) {
    const auto all = world().gather(full({3, 2}, rank(), device().is_cuda() ? at::kInt : at::kShort), root);
    if (rank() != root) {
      EXPECT_THAT(all, IsEmpty());
      continue;
    }
    ASSERT_EQ(std::ssize(all), size());
    for (int r = 0; r < size(); ++r) EXPECT_TRUE(all[static_cast<std::size_t>(r)].eq(r).all().item<bool>());
  }
}

TEST(Scatter, TakesEachItsOwnFromTheRoot) {
  for (int root = 0; root < size(); ++root) {
    std::vector<at::Tensor> inputs;
    for (int r = 0; rank() == root && r < size(); ++r) inputs.push_back(full({100}, 10 * root + r, at::kLong));
    const at::Tensor output = zeros({100}, at::kLong);
    world().scatter(output, inputs, root);
    EXPECT_TRUE(output.eq(10 * root + rank()).all().item<bool>());
  }
}

TEST(AllToAll, ExchangesEqualParts) {
  const at::Tensor input =
      at::arange(size(), at::TensorOptions(device()).dtype(at::kLong)).add_(100 * rank()).repeat_interleave(3);
  const at::Tensor output = zeros({3 * size()}, at::kLong);
  world().all_to_all(output, input);
  EXPECT_TRUE(at::equal(
      output,
      at::arange(size(), at::TensorOptions(device()).dtype(at::kLong)).mul_(100).add_(rank()).repeat_interleave(3)));
}

TEST(AllToAll, ExchangesUnequalParts) {
  // Rank r sends i rows to rank i: it receives r rows from each, and rank 0 nothing at all.
  std::vector<std::int64_t> sent, received(static_cast<std::size_t>(size()), rank());
  for (int i = 0; i < size(); ++i) sent.push_back(i);
  const at::Tensor input = full({size() * (size() - 1) / 2, 4}, rank(), at::kFloat);
  const at::Tensor output = full({size() * rank(), 4}, -1, at::kFloat);
  world().all_to_all(output, input, received, sent);
  for (int r = 0; r < size(); ++r) {
    EXPECT_TRUE(output.narrow(0, r * rank(), rank()).eq(r).all().item<bool>());
  }
}

TEST(Messages, PassRoundARing) {
  if (size() == 1) return;  // a ring needs two
  const int next = (rank() + 1) % size();
  const int previous = (rank() + size() - 1) % size();
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{500'000}}) {
    const at::Tensor sent = full({count}, rank(), at::kFloat);
    const at::Tensor received = full({count}, -1, at::kFloat);
    Work sending = world().send_async(sent, next, 7);
    world().receive(received, previous, 7);
    sending.wait();
    EXPECT_TRUE(received.eq(previous).all().item<bool>());
  }
}

TEST(Messages, AreToldApartByTheirTags) {
  if (size() == 1) return;
  const int next = (rank() + 1) % size();
  const int previous = (rank() + size() - 1) % size();
  Work one = world().send_async(full({10}, 1, at::kInt), next, 1);
  Work two = world().send_async(full({20}, 2, at::kInt), next, 2);
  const at::Tensor second = zeros({20}, at::kInt), first = zeros({10}, at::kInt);
  world().receive(second, previous, 2);  // in the other order
  world().receive(first, previous, 1);
  one.wait();
  two.wait();
  EXPECT_TRUE(first.eq(1).all().item<bool>());
  EXPECT_TRUE(second.eq(2).all().item<bool>());
}

TEST(Messages, ComeFromAnyRank) {
  if (rank() != 0) {
    world().send(full({3}, rank(), at::kLong), 0, 5);
    return;
  }
  std::vector<bool> seen(static_cast<std::size_t>(size()));
  for (int i = 1; i < size(); ++i) {
    const at::Tensor tensor = zeros({3}, at::kLong);
    const int source = world().receive_from_any(tensor, 5);
    EXPECT_TRUE(tensor.eq(source).all().item<bool>());
    EXPECT_FALSE(seen[static_cast<std::size_t>(source)]);
    seen[static_cast<std::size_t>(source)] = true;
  }
}

TEST(Values, NeedNoTensor) {
  const int n = size();
  EXPECT_EQ(world().all_reduce_value(static_cast<double>(rank())), n * (n - 1) / 2.0);
  EXPECT_EQ(world().all_reduce_value(std::int64_t{1} << 40, Reduce::kMax), std::int64_t{1} << 40);
  EXPECT_EQ(world().broadcast_text(rank() == n - 1 ? std::string("größe\0x", 9) : "", n - 1),
            std::string("größe\0x", 9));
  const auto texts = world().all_gather_text(std::string(static_cast<std::size_t>(rank()), 'x'));
  for (int r = 0; r < n; ++r) EXPECT_EQ(texts[static_cast<std::size_t>(r)].size(), static_cast<std::size_t>(r));
  EXPECT_EQ(world().broadcast_json({{"rank", rank()}})["rank"], 0);
  EXPECT_EQ(world().all_gather_json(rank()).back(), n - 1);
}

TEST(Subgroups, ActAmongThemselves) {
  std::vector<int> even, odd;
  for (int r = 0; r < size(); ++r) (r % 2 == 0 ? even : odd).push_back(r);
  const auto evens = world().subgroup(even);
  const auto odds = odd.empty() ? std::nullopt : world().subgroup(odd);
  EXPECT_EQ(evens.has_value(), rank() % 2 == 0);
  const Group& mine = rank() % 2 == 0 ? *evens : *odds;
  EXPECT_EQ(mine.rank(), rank() / 2);
  const auto& members = rank() % 2 == 0 ? even : odd;
  EXPECT_EQ(mine.all_reduce_value(static_cast<std::int64_t>(rank())),
            std::accumulate(members.begin(), members.end(), 0));
  EXPECT_THROW(world().subgroup({0, 0}), UsageError);
  EXPECT_THROW(world().subgroup({size()}), UsageError);
}

TEST(Subgroups, OfTheSameRanksKeepTheirOperationsApart) {
  std::vector<int> all(static_cast<std::size_t>(size()));
  std::iota(all.begin(), all.end(), 0);
  const auto one = world().subgroup(all), two = world().subgroup(all);
  const at::Tensor first = full({10'000}, 1, at::kFloat), second = full({10'000}, 2, at::kFloat);
  // Half of the ranks start with the one, half with the other.
  const auto start = [&](bool with_one) {
    return with_one ? one->all_reduce_async(first) : two->all_reduce_async(second);
  };
  Work earlier = start(rank() % 2 == 0);
  Work later = start(rank() % 2 != 0);
  earlier.wait();
  later.wait();
  EXPECT_TRUE(first.eq(size()).all().item<bool>());
  EXPECT_TRUE(second.eq(2 * size()).all().item<bool>());
}

TEST(Subgroups, CanBeMadeAgainAndAgain) {
  std::vector<int> all(static_cast<std::size_t>(size()));
  std::iota(all.begin(), all.end(), 0);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(world().subgroup(all)->all_reduce_value(std::int64_t{i}), i * size());
  }
}

TEST(Movements, RefuseWhatTheyCannotDo) {
  EXPECT_THROW(world().broadcast(zeros({4}), size()), UsageError);
  EXPECT_THROW(world().broadcast(zeros({4}), -1), UsageError);
  EXPECT_THROW(world().all_gather(zeros({4, 3}).t()), UsageError);
  EXPECT_THROW(world().all_gather_into(zeros({size() * 4 + 1}), zeros({4})), UsageError);
  EXPECT_THROW(world().all_to_all(zeros({size()}), zeros({size()}), {}, {1000}), UsageError);
  EXPECT_THROW(world().send(zeros({4}), size()), UsageError);
  world().barrier();
}

}  // namespace
}  // namespace lockstep::test
