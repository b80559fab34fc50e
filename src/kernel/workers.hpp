#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tyrex {

// Threads that work off numbered tasks together with the one that asks for it.
class Workers {
public:
    explicit Workers(std::size_t threads) : wanted_(threads) {}
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    // Do the tasks 0 to count - 1, in any order, each once; back when all are done. What one of them throws is
    // thrown again here, when the others are done too.
    void run(std::size_t count, const std::function<void(std::size_t)>& task);

private:
    void wait_for_work();
    void work(std::unique_lock<std::mutex>& lock);

    const std::size_t wanted_;
    std::vector<std::thread> threads_;  // started when they are needed first
    std::mutex one_at_a_time_;
    std::mutex mutex_;
    std::condition_variable has_work_;
    std::condition_variable is_done_;
    const std::function<void(std::size_t)>* task_ = nullptr;
    std::size_t next_ = 0;
    std::size_t count_ = 0;
    std::size_t open_ = 0;
    std::exception_ptr failure_;
    bool ending_ = false;
};

}  // namespace tyrex
