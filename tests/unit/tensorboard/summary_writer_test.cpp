// What a SummaryWriter writes, read back.
#include <lockstep/tensorboard/summary_writer.h>

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <torch/torch.h>
#include <nlohmann/json.hpp>

#include <lockstep/base/errors.h>

#include "run_reader.h"
#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::tensorboard {
namespace {

using test::read_run;
using test::ReadValue;
using test::TemporaryFolder;
using test::ThrowsWith;
using ::testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// What one writer writes, when it is closed.
template <typename Write>
test::ReadRun written(Write write, const SummaryWriterOptions& options = {}) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path(), options);
  write(writer);
  writer.close();
  return read_run(writer.folder());
}

TEST(SummaryWriter, Scalar_HasValueStepAndTime) {
  const auto time = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
  const auto values = written([&](SummaryWriter& writer) {
                        writer.add_scalar("train/loss", 0.25, 7);
                        writer.add_scalar("a b", 1, {8, time});
                        writer.add_scalar("none", -1);
                      }).values;
  ASSERT_EQ(values.size(), 3U);
  EXPECT_EQ(values[0].tag, "train/loss");
  EXPECT_EQ(values[0].scalar, 0.25F);
  EXPECT_EQ(values[0].step, 7);
  EXPECT_NEAR(values[0].time,
              std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(), 100);
  EXPECT_EQ(values[1].tag, "a_b");
  EXPECT_EQ(values[1].time, 1.7e9);
  EXPECT_EQ(values[2].step, 0);
}

TEST(SummaryWriter, ScalarsThatAreNotFinite_AreWritten) {
  const auto values = written([](SummaryWriter& writer) {
                        for (const double value : {kNan, kInf, -kInf}) writer.add_scalar("x", value);
                      }).values;
  EXPECT_TRUE(std::isnan(values.at(0).scalar));
  EXPECT_EQ(values.at(1).scalar, std::numeric_limits<float>::infinity());
  EXPECT_EQ(values.at(2).scalar, -std::numeric_limits<float>::infinity());
}

TEST(SummaryWriter, Scalars_AreRunsInSubFolders_AndCanBeExported) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path());
  writer.add_scalars("loss/all", {{"train", 1.5}, {"test", kNan}}, 3);
  writer.export_scalars_to_json(folder.path() / "scalars.json");
  writer.add_scalars("loss/all", {{"train", 2.5}}, 4);
  writer.close();
  const auto train = read_run(folder.path() / "loss/all/train").values;
  ASSERT_EQ(train.size(), 2U);
  EXPECT_EQ(train[0].tag, "loss/all");
  EXPECT_EQ(train[1].scalar, 2.5F);
  EXPECT_EQ(read_run(folder.path() / "loss/all/test").values.size(), 1U);
  const auto exported = nlohmann::json::parse(test::content(folder.path() / "scalars.json"));
  const auto& row = exported.at((folder.path() / "loss/all/train").string()).at(0);
  EXPECT_EQ(row.at(1), 3);
  EXPECT_EQ(row.at(2), 1.5);
  EXPECT_TRUE(exported.at((folder.path() / "loss/all/test").string()).at(0).at(2).is_null());
}

TEST(SummaryWriter, ScalarsWhoseFolderCannotBeMade_AreRefusedAndNothingElseIsLost) {
  const TemporaryFolder folder;
  folder.write("loss", "a file");
  SummaryWriter writer(folder.path());
  EXPECT_THAT([&] { writer.add_scalars("loss", {{"train", 1}}); }, ThrowsWith<UsageError>("cannot make the folder"));
  writer.add_scalar("x", 1);
  writer.flush();
  writer.close();
  EXPECT_EQ(read_run(folder.path()).values.size(), 1U);
}

TEST(SummaryWriter, ScalarsCannotLeaveTheFolder) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path() / "run");
  EXPECT_THAT([&] { writer.add_scalars("../../out", {{"a", 1}}); }, ThrowsWith<UsageError>("name of a run"));
  EXPECT_THAT([&] { writer.add_hparams({}, {}, {}, {.run_name = ".."}); }, ThrowsWith<UsageError>("name of a run"));
}

TEST(SummaryWriter, Histogram_CountsInTensorFlowsBins) {
  const auto values = written([](SummaryWriter& writer) {
                        writer.add_histogram("h", torch::tensor({0.0, 1.0, 1.0, -2.0}).to(at::kBFloat16), 1);
                        writer.add_histogram("bins", torch::arange(10), 2, {.equal_bins = 3});
                      }).values;
  const RawHistogram& histogram = values.at(0).histogram;
  EXPECT_EQ(histogram.min, -2);
  EXPECT_EQ(histogram.max, 1);
  EXPECT_EQ(histogram.num, 4);
  EXPECT_EQ(histogram.sum, 0);
  EXPECT_EQ(histogram.sum_squares, 6);
  EXPECT_EQ(std::accumulate(histogram.bucket_counts.begin(), histogram.bucket_counts.end(), 0.0), 4);
  EXPECT_EQ(histogram.bucket_counts.size(), histogram.bucket_limits.size());
  EXPECT_THAT(values.at(1).histogram.bucket_limits, ElementsAre(0, 3, 6, 9));
  EXPECT_THAT(values.at(1).histogram.bucket_counts, ElementsAre(0, 3, 3, 4));
}

TEST(SummaryWriter, Histogram_LeavesOutWhatIsNotFinite) {
  const auto values = written([](SummaryWriter& writer) {
                        writer.add_histogram("h", torch::tensor({1.0, kNan, kInf, 3.0}));
                      }).values;
  EXPECT_EQ(values.at(0).histogram.num, 2);
  EXPECT_EQ(values.at(0).histogram.sum, 4);
}

TEST(SummaryWriter, HistogramRaw_IsWrittenAsItIs) {
  const auto values = written([](SummaryWriter& writer) {
                        writer.add_histogram_raw("h",
                                                 {.min = 1,
                                                  .max = 2,
                                                  .num = 3,
                                                  .sum = 4,
                                                  .sum_squares = 5,
                                                  .bucket_limits = {6, 7},
                                                  .bucket_counts = {8, 9}},
                                                 2);
                      }).values;
  EXPECT_EQ(values.at(0).histogram.sum_squares, 5);
  EXPECT_THAT(values.at(0).histogram.bucket_counts, ElementsAre(8, 9));
}

TEST(SummaryWriter, Text_IsForItsPlugin) {
  const auto values = written([](SummaryWriter& writer) { writer.add_text("a note", "# Title\nü\n", 5); }).values;
  EXPECT_EQ(values.at(0).tag, "a note/text_summary");
  EXPECT_EQ(values.at(0).plugin, "text");
  EXPECT_EQ(values.at(0).bytes, "# Title\nü\n");
}

TEST(SummaryWriter, Audio_IsA16BitWav) {
  const auto values = written([](SummaryWriter& writer) {
                        writer.add_audio("mono", torch::tensor({0.0, 1.0, -2.0, 0.5}), 1);
                        writer.add_audio("stereo", torch::zeros({10, 2}), 1, 8000);
                      }).values;
  const std::string& wav = values.at(0).bytes;
  ASSERT_EQ(wav.size(), 44U + 8U);
  EXPECT_EQ(wav.substr(0, 4) + wav.substr(8, 8), "RIFFWAVEfmt ");
  EXPECT_EQ(wav.substr(44), std::string("\0\0\xff\x7f\x01\x80\xff\x3f", 8));
  EXPECT_EQ(values[0].sample_rate, 44100);
  EXPECT_THAT(values.at(1).shape, ElementsAre(10, 2));
}

TEST(SummaryWriter, PrCurve_CountsAtThresholds) {
  const auto values = written([](SummaryWriter& writer) {
                        const auto labels = torch::tensor({1, 0, 1, 0}), guesses = torch::tensor({0.9, 0.6, 0.3, 0.1});
                        writer.add_pr_curve("pr", labels, guesses, 1, {.num_thresholds = 3});
                        writer.add_pr_curve("most", labels, guesses, 1, {.num_thresholds = 500});
                        const auto one = torch::tensor({1.0, 2.0});
                        writer.add_pr_curve_raw("raw", {one, one, one, one, one, one});
                      }).values;
  EXPECT_EQ(values.at(0).plugin, "pr_curves");
  EXPECT_THAT(values.at(0).shape, ElementsAre(6, 3));
  // Thresholds 0, 1/2 and 1: four, two and no predictions lie at them or above.
  EXPECT_THAT(values[0].numbers, ElementsAre(2, 1, 0, 2, 1, 0, 0, 1, 2, 0, 1, 2, 0.5, 0.5, 0, 1, 0.5, 0));
  EXPECT_THAT(values.at(1).shape, ElementsAre(6, 127));
  EXPECT_THAT(values.at(2).numbers, ElementsAre(1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2));
}

TEST(SummaryWriter, Mesh_HasAValueForEachPart) {
  const auto values =
      written([](SummaryWriter& writer) {
        const auto vertices = torch::arange(12).reshape({1, 4, 3});
        writer.add_mesh(
            "m", vertices, 1,
            {.colors = vertices, .faces = torch::tensor({{{0, 1, 2}}}), .config = R"({"camera": {"fov": 75}})"});
        writer.add_mesh("cloud", vertices, 1);
      }).values;
  ASSERT_EQ(values.size(), 4U);
  EXPECT_EQ(values[0].tag, "m_VERTEX");
  EXPECT_EQ(values[1].tag, "m_FACE");
  EXPECT_EQ(values[2].tag, "m_COLOR");
  EXPECT_THAT(values[1].numbers, ElementsAre(0, 1, 2));
  EXPECT_THAT(values[0].shape, ElementsAre(1, 4, 3));
  EXPECT_EQ(values[3].tag, "cloud_VERTEX");
}

TEST(SummaryWriter, Hparams_AreARunOfTheirOwn) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path());
  writer.add_hparams({{"lr", 0.1}, {"epochs", 90}, {"optimizer", "sgd"}, {"amp", true}}, {{"top1", 0.76}}, 90,
                     {.run_name = "run", .domains = {{"optimizer", {"sgd", "lamb"}}}});
  writer.close();
  const auto run = read_run(folder.path() / "run");
  const auto read = test::read_hparams(run);
  EXPECT_EQ(read.hparams, (Hparams{{"lr", 0.1}, {"epochs", 90.0}, {"optimizer", "sgd"}, {"amp", true}}));
  EXPECT_THAT(read.metrics, ElementsAre("top1"));
  EXPECT_TRUE(read.success);
  EXPECT_EQ(run.values.back().tag, "top1");
  EXPECT_EQ(run.values.back().step, 90);
}

TEST(SummaryWriter, CustomScalars_AreALayout) {
  const auto values = written([](SummaryWriter& writer) {
                        writer.add_custom_scalars({{"loss",
                                                    {{"both", CustomChart::Kind::kMultiline, {"train", "test"}},
                                                     {"band", CustomChart::Kind::kMargin, {"a", "b", "c"}}}}});
                        writer.add_custom_scalars_multilinechart({"x"});
                        writer.add_custom_scalars_marginchart({"x", "y", "z"}, "c", "t");
                      }).values;
  EXPECT_EQ(values.at(0).tag, "custom_scalars__config__");
  EXPECT_EQ(values[0].plugin, "custom_scalars");
  EXPECT_THAT(test::read_layout(values[0]), ElementsAre("loss/both: train test", "loss/band: a between b and c"));
  EXPECT_THAT(test::read_layout(values.at(1)), ElementsAre("default/untitled: x"));
  EXPECT_THAT(test::read_layout(values.at(2)), ElementsAre("c/t: x between y and z"));
}

TEST(SummaryWriter, Embedding_IsFilesForTheProjector) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path());
  const auto points = torch::tensor({{1.5, 2.0}, {-3.0, 0.1}, {0.0, 1e-9}}, at::kFloat);
  writer.add_embedding(points, 12,
                       {.metadata = {{"a", "1"}, {"tab\there", "2"}, {"c", "3"}},
                        .metadata_header = {"name", "number"},
                        .label_images = torch::rand({3, 1, 4, 4}),
                        .tag = "last/layer"});
  writer.add_embedding(points);
  writer.add_embedding(points);
  const auto at = folder.path() / "00012/last%2flayer";
  EXPECT_EQ(test::content(at / "tensors.tsv"), "1.5\t2\n-3\t0.1\n0\t1e-09\n");
  EXPECT_EQ(test::content(at / "metadata.tsv"), "name\tnumber\na\t1\ntab here\t2\nc\t3\n");
  EXPECT_TRUE(std::filesystem::exists(at / "sprite.png"));
  EXPECT_EQ(
      test::content(folder.path() / "projector_config.pbtxt"),
      "embeddings {\ntensor_name: \"last/layer:00012\"\ntensor_path: \"00012/last%2flayer/tensors.tsv\"\n"
      "metadata_path: \"00012/last%2flayer/metadata.tsv\"\nsprite {\nimage_path: \"00012/last%2flayer/sprite.png\"\n"
      "single_image_dim: 4\nsingle_image_dim: 4\n}\n}\n"
      "embeddings {\ntensor_name: \"default:00000\"\ntensor_path: \"00000/default/tensors.tsv\"\n}\n");
}

TEST(SummaryWriter, PurgeStep_HidesWhatCameAfterIt_InEveryRun) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path(), {.purge_step = 120});
  writer.add_scalars("loss", {{"train", 1}}, 120);
  writer.close();
  EXPECT_EQ(read_run(folder.path()).purged_from, 120);
  EXPECT_EQ(read_run(folder.path() / "loss/train").purged_from, 120);
}

TEST(SummaryWriter, OfAnotherRank_TouchesNothing) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path() / "run", {.rank = {1, 2}});
  EXPECT_FALSE(writer.writes());
  writer.add_scalar("x", 1);
  writer.add_embedding(torch::zeros({2, 2}));
  writer.add_hparams({{"a", 1}}, {});
  writer.flush();
  writer.close();
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SummaryWriter, OfEveryRank_HasAFolderForEach) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path(), {.rank = {3, 4}, .ranks = WritingRanks::kEvery});
  writer.add_scalar("x", 1);
  writer.close();
  EXPECT_EQ(read_run(folder.path() / "rank-3").values.size(), 1U);
}

TEST(SummaryWriter, AfterClose_RefusesMore) {
  const TemporaryFolder folder;
  SummaryWriter writer(folder.path());
  writer.close();
  writer.close();
  EXPECT_THAT([&] { writer.add_scalar("x", 1); }, ThrowsWith<UsageError>("closed"));
  EXPECT_THAT([&] { writer.add_embedding(torch::zeros({1, 1})); }, ThrowsWith<UsageError>("closed"));
}

TEST(SummaryWriter, InAFolderThatCannotBeWritten_SaysSo) {
  const TemporaryFolder folder;
  EXPECT_THAT([&] { SummaryWriter writer(folder.write("file", "") / "run"); },
              ThrowsWith<UsageError>("cannot make the folder"));
  EXPECT_THAT([&] { SummaryWriter writer("/proc/none"); }, ThrowsWith<UsageError>("cannot make the folder"));
  EXPECT_THAT([&] { SummaryWriter writer(folder.path(), {.max_queue = 0}); }, ThrowsWith<UsageError>("max_queue"));
}

// Each is refused with a reason, and the writer goes on.
TEST(SummaryWriter, BadInput_IsRefusedAndNothingElseIsLost) {
  const auto values =
      written([](SummaryWriter& writer) {
        const at::Tensor row = torch::arange(3.0), none, nothing = torch::zeros({0});
        const auto refuses = [](const char* with, const auto& call) {
          EXPECT_THAT(call, ThrowsWith<UsageError>(with));
        };
        writer.add_scalar("first", 1);
        refuses("too long", [&] { writer.add_scalar(std::string(1 << 20, 'x'), 1); });
        refuses("empty", [&] { writer.add_text("", "text"); });
        refuses("no elements", [&] { writer.add_histogram("h", nothing); });
        refuses("no elements", [&] { writer.add_histogram("h", none); });
        refuses("no elements", [&] { writer.add_image("i", none); });
        refuses("no elements", [&] { writer.add_video("v", none); });
        refuses("no elements", [&] { writer.add_audio("a", none); });
        refuses("no elements", [&] { writer.add_mesh("m", none); });
        refuses("no elements", [&] { writer.add_embedding(none); });
        refuses("no elements", [&] { writer.add_pr_curve("p", none, none); });
        refuses("no boxes", [&] { writer.add_image_with_boxes("i", torch::zeros({3, 4, 4}), none); });
        refuses("no finite value", [&] { writer.add_histogram("h", torch::full({3}, kNan)); });
        refuses("real numbers", [&] { writer.add_histogram("h", torch::zeros({2}, at::kComplexFloat)); });
        refuses("bins", [&] { writer.add_histogram("h", row, {}, {.edges = {2, 1}}); });
        refuses("lies within its edges", [&] { writer.add_histogram("h", row, {}, {.edges = {8, 9}}); });
        refuses("limit for each bucket", [&] { writer.add_histogram_raw("h", {.bucket_limits = {1}}); });
        refuses("3 dimensions: CHW", [&] { writer.add_image("i", row); });
        refuses("channels", [&] { writer.add_image("i", torch::zeros({2, 4, 4})); });
        refuses("dataformats", [&] { writer.add_image("i", torch::zeros({3, 4, 4}), {}, "CCC"); });
        refuses("no elements", [&] { writer.add_images("i", torch::zeros({0, 3, 4, 4})); });
        refuses("no boxes", [&] { writer.add_image_with_boxes("i", torch::zeros({3, 4, 4}), row); });
        refuses("one label each", [&] {
          writer.add_image_with_boxes("i", torch::zeros({3, 4, 4}), torch::zeros({2, 4}), {}, {.labels = {"a"}});
        });
        refuses("5 dimensions", [&] { writer.add_video("v", torch::zeros({3, 3, 4, 4})); });
        refuses("frames in a second", [&] { writer.add_video("v", torch::zeros({1, 1, 3, 4, 4}), {}, {.fps = 0}); });
        refuses("no audio", [&] { writer.add_audio("a", torch::zeros({4, 3})); });
        refuses("samples a second", [&] { writer.add_audio("a", torch::zeros({4}), {}, 0); });
        refuses("label and a weight", [&] { writer.add_pr_curve("p", row, torch::zeros({2})); });
        refuses("outside its range", [&] { writer.add_pr_curve("p", torch::ones({3}), row); });
        refuses("not of one length", [&] {
          writer.add_pr_curve_raw("p", {row, row, row, row, row, torch::zeros({2})});
        });
        refuses("do not fit", [&] { writer.add_mesh("m", row); });
        refuses("color for each vertex", [&] {
          writer.add_mesh("m", torch::zeros({1, 4, 3}), {}, {.colors = torch::zeros({1, 3, 3})});
        });
        refuses("JSON", [&] { writer.add_mesh("m", torch::zeros({1, 4, 3}), {}, {.config = "{"}); });
        refuses("three tags", [&] { writer.add_custom_scalars_marginchart({"a"}); });
        refuses("cannot be written", [&] { writer.add_embedding(row); });
        refuses("cannot be written", [&] { writer.add_embedding(torch::zeros({2, 2}), {}, {.metadata = {{"a"}}}); });
        refuses("square", [&] {
          writer.add_embedding(torch::zeros({1, 2}), {}, {.label_images = torch::zeros({1, 3, 4, 5})});
        });
        refuses("no hyperparameter", [&] { writer.add_hparams({}, {}, {}, {.domains = {{"lr", {0.1}}}}); });
        writer.add_scalar("last", 2);
      }).values;
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[1].tag, "last");
}

}  // namespace
}  // namespace lockstep::tensorboard
