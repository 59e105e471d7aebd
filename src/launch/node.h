#pragma once
#include <memory>
#include <string>

#include <lockstep/base/token.h>

#include "channel.h"
#include "messages.h"
#include "node_ranks.h"
#include "rank_events.h"

namespace lockstep::launch {

class Node;

class NodeListener : public RankListener {
 public:
  virtual void on_hello(Node& node) = 0;
  virtual void on_asked(int signal) = 0;  // a user or a scheduler there has sent it
  virtual void on_refusal(Node& node, const Message& refusal) = 0;
  virtual void on_loss(Node& node, const std::string& why) = 0;
};

// A node as the job's launcher sees it: here, or at the other end of a channel.
class Node {
 public:
  virtual ~Node() = default;

  virtual void start(const NodeAssignment& assignment) = 0;
  virtual void signal(int number) = 0;
  virtual void read_output(bool on) = 0;
  virtual void check() = 0;  // about once a second
  virtual void say_goodbye(int exit_code) = 0;
  virtual void refuse(const Error& error) = 0;

  NodeInfo info;       // empty before it has said hello
  int first_rank = 0;  // of its share
  int ranks = 0;
  bool is_lost = false;
};

class LocalNode : public Node {
 public:
  LocalNode(const Token& token, EventLoop& loop, NodeListener& listener);

  void start(const NodeAssignment& assignment) override;
  void signal(int number) override { ranks_here_.signal(number); }
  void read_output(bool on) override { ranks_here_.read_output(on); }
  void check() override;
  void say_goodbye(int /*exit_code*/) override {}
  void refuse(const Error& /*error*/) override {}

  void poll() { ranks_here_.poll(); }

 private:
  NodeRanks ranks_here_;
};

class RemoteNode : public Node {
 public:
  RemoteNode(UniqueFd socket, EventLoop& loop, NodeListener& listener);

  void start(const NodeAssignment& assignment) override;
  void signal(int number) override;
  void read_output(bool on) override { channel_.receive(on); }
  void check() override { channel_.check(); }
  void say_goodbye(int exit_code) override;
  void refuse(const Error& error) override;

 private:
  void handle(const Message& message);

  NodeListener& listener_;
  Channel channel_;
};

}  // namespace lockstep::launch
