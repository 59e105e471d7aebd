#include <lockstep/data/image_folder.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "temporary_folder.h"
#include "throws_with.h"

namespace lockstep::data {
namespace {

using test::ThrowsWith;
using ::testing::ElementsAre;

class ImageFolderTest : public ::testing::Test {
 protected:
  void add(const std::string& name, const std::string& text = "bytes") {
    std::filesystem::create_directories((root_.path() / name).parent_path());
    root_.write(name, text);
  }
  std::vector<std::string> names(const ImageFolder& set) {
    std::vector<std::string> all;
    for (std::int64_t i = 0; i < set.size(); ++i) all.push_back(set.name(i));
    return all;
  }
  std::string text(const ImageFolder& set, std::int64_t index) {
    const Picture picture = set.get(index);
    return {reinterpret_cast<const char*>(picture.bytes.data()), picture.bytes.size()};
  }

  const test::TemporaryFolder root_;
  const test::TemporaryFolder outside_;
};

TEST_F(ImageFolderTest, HasTorchvisionsOrder) {
  // As torchvision 0.26 lists it: classes, then folders by their whole path, then names, bytes before letters' case.
  for (const char* name : {"cat/b.jpg", "cat/a.JPG", "cat/B.png", "cat/sub/z.jpeg", "cat/sub-a/y.jpg",
                           "cat/sub/in/x.png", "Dog/1.jpg", "Dog/10.jpg", "Dog/2.jpg", "ant/only.Png"}) {
    add(name);
  }
  add("cat/notes.txt");
  add("top.jpg");
  const ImageFolder set(root_.path());
  EXPECT_THAT(set.classes(), ElementsAre("Dog", "ant", "cat"));
  EXPECT_THAT(names(set), ElementsAre("Dog/1.jpg", "Dog/10.jpg", "Dog/2.jpg", "ant/only.Png", "cat/B.png", "cat/a.JPG",
                                      "cat/b.jpg", "cat/sub/z.jpeg", "cat/sub-a/y.jpg", "cat/sub/in/x.png"));
  EXPECT_EQ(set.get(0).label, 0);
  EXPECT_EQ(set.get(3).label, 1);
  EXPECT_EQ(set.get(9).label, 2);
}

TEST_F(ImageFolderTest, GivesAFilesBytesThatLiveWithThePicture) {
  add("a/1.jpg", "first");
  add("b/2.png", std::string("sec\0nd", 6));
  Picture picture;
  {
    const ImageFolder set(root_.path());
    EXPECT_EQ(text(set, 0), "first");
    picture = set.get(1);
  }
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(picture.bytes.data()), picture.bytes.size()),
            std::string("sec\0nd", 6));
}

TEST_F(ImageFolderTest, RefusesEmptyClassesAndRootsByName) {
  EXPECT_THAT([&] { ImageFolder(root_.path()); }, ThrowsWith<UsageError>("has no folder for any class"));
  add("full/1.jpg");
  std::filesystem::create_directories(root_.path() / "empty/deeper");
  EXPECT_THAT([&] { ImageFolder(root_.path()); }, ThrowsWith<UsageError>("'empty'"));
  EXPECT_THAT([&] { ImageFolder(root_.path() / "absent"); }, ThrowsWith<UsageError>("absent"));
}

TEST_F(ImageFolderTest, RefusesALinkThatLeavesTheRootByName) {
  outside_.write("secret.jpg", "secret");
  add("a/1.jpg");
  std::filesystem::create_symlink(outside_.path() / "secret.jpg", root_.path() / "a/2.jpg");
  const ImageFolder set(root_.path());
  EXPECT_EQ(text(set, 0), "bytes");
  EXPECT_THAT([&] { set.get(1); }, ThrowsWith<SampleError>("a/2.jpg' leaves the data set's folder"));
  EXPECT_EQ(text(ImageFolder(root_.path(), {.links_may_leave = true}), 1), "secret");
}

TEST_F(ImageFolderTest, RefusesALinkedFolderThatLeavesTheRoot) {
  outside_.write("secret.jpg", "secret");
  add("a/1.jpg");
  std::filesystem::create_directory_symlink(outside_.path(), root_.path() / "b");
  EXPECT_THAT([&] { ImageFolder(root_.path()); }, ThrowsWith<UsageError>("/b' leaves the data set's folder"));
  EXPECT_EQ(text(ImageFolder(root_.path(), {.links_may_leave = true}), 1), "secret");
}

TEST_F(ImageFolderTest, FollowsLinksInsideTheRoot) {
  add("a/1.jpg", "one");
  std::filesystem::create_symlink("1.jpg", root_.path() / "a/2.jpg");
  std::filesystem::create_directory_symlink("a", root_.path() / "b");
  const ImageFolder set(root_.path());
  EXPECT_THAT(names(set), ElementsAre("a/1.jpg", "a/2.jpg", "b/1.jpg", "b/2.jpg"));
  EXPECT_EQ(text(set, 3), "one");
}

TEST_F(ImageFolderTest, RefusesALinkThatLeadsBack) {
  add("a/1.jpg");
  std::filesystem::create_directory_symlink(root_.path() / "a", root_.path() / "a/again");
  EXPECT_THAT([&] { ImageFolder(root_.path()); }, ThrowsWith<UsageError>("a/again' leads back"));
}

TEST_F(ImageFolderTest, ALinkMadeAfterListingIsCheckedToo) {
  outside_.write("secret.jpg", "secret");
  add("a/1.jpg");
  const ImageFolder set(root_.path());
  std::filesystem::remove(root_.path() / "a/1.jpg");
  std::filesystem::create_symlink(outside_.path() / "secret.jpg", root_.path() / "a/1.jpg");
  EXPECT_THAT([&] { set.get(0); }, ThrowsWith<SampleError>("leaves the data set's folder"));
}

TEST_F(ImageFolderTest, NamesAFileThatVanishedOrIsNoPicture) {
  add("a/1.jpg");
  add("a/2.jpg", "");
  add("a/4.jpg", std::string(100, 'x'));
  ASSERT_EQ(::mkfifo((root_.path() / "a/3.jpg").c_str(), 0600), 0);
  std::filesystem::create_symlink("nowhere", root_.path() / "a/5.jpg");
  const ImageFolder set(root_.path(), {.largest_file = 99});
  std::filesystem::remove(root_.path() / "a/1.jpg");
  EXPECT_THAT([&] { set.get(0); }, ThrowsWith<SampleError>("a/1.jpg': No such file"));
  EXPECT_THAT([&] { set.get(1); }, ThrowsWith<SampleError>("a/2.jpg' is empty"));
  EXPECT_THAT([&] { set.get(2); }, ThrowsWith<SampleError>("a/3.jpg' is no regular file"));
  EXPECT_THAT([&] { set.get(3); }, ThrowsWith<SampleError>("a/4.jpg' is too large"));
  EXPECT_THAT([&] { set.get(4); }, ThrowsWith<SampleError>("a/5.jpg': No such file"));
}

TEST_F(ImageFolderTest, DoesNotBlameAFileForWantOfDescriptors) {
  add("a/1.jpg", "first");
  const ImageFolder set(root_.path());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_THAT([&] { set.get(0); }, ThrowsWith<RuntimeError>("a/1.jpg"));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(text(set, 0), "first");
}

TEST_F(ImageFolderTest, RefusesASampleThatIsNotThere) {
  add("a/1.jpg");
  const ImageFolder set(root_.path());
  for (const std::int64_t index : {std::int64_t{-1}, std::int64_t{1}}) {
    EXPECT_THAT([&] { set.get(index); }, ThrowsWith<UsageError>("no such sample"));
    EXPECT_THAT([&] { set.name(index); }, ThrowsWith<UsageError>("no such sample"));
  }
}

TEST_F(ImageFolderTest, ShowsANewlineInANameEscaped) {
  add("a/two\nlines.jpg", "both");
  const ImageFolder set(root_.path());
  EXPECT_EQ(set.name(0), "a/two\\nlines.jpg");
  EXPECT_EQ(text(set, 0), "both");
  std::filesystem::remove(root_.path() / "a/two\nlines.jpg");
  EXPECT_THAT([&] { set.get(0); }, ThrowsWith<SampleError>("two\\nlines.jpg"));
}

TEST_F(ImageFolderTest, SaysWhichFolderCannotBeRead) {
  add("a/1.jpg");
  add("a/locked/2.jpg");
  std::filesystem::permissions(root_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(root_.path() / "a/locked", std::filesystem::perms::none);
  // Root reads every folder, so it becomes someone else for a moment.
  const uid_t self = ::geteuid();
  if (self == 0) {
    ASSERT_EQ(::seteuid(65'534), 0);
  }
  EXPECT_THAT([&] { ImageFolder(root_.path()); }, ThrowsWith<UsageError>("a/locked': Permission denied"));
  if (self == 0) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  std::filesystem::permissions(root_.path() / "a/locked", std::filesystem::perms::all);
}

}  // namespace
}  // namespace lockstep::data
