#include "workers.hpp"

#include <utility>

namespace tyrex {

Workers::~Workers() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    has_work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Workers::run(std::size_t count, const std::function<void(std::size_t)>& task) {
    if (count <= 1 || wanted_ <= 1) {
        for (std::size_t i = 0; i < count; ++i) task(i);
        return;
    }
    const std::lock_guard alone(one_at_a_time_);
    std::unique_lock lock(mutex_);
    task_ = &task;
    next_ = 0;
    count_ = open_ = count;
    while (threads_.size() + 1 < wanted_) threads_.emplace_back([this] { wait_for_work(); });
    has_work_.notify_all();
    work(lock);
    is_done_.wait(lock, [this] { return open_ == 0; });
    task_ = nullptr;
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Workers::wait_for_work() {
    std::unique_lock lock(mutex_);
    while (true) {
        has_work_.wait(lock, [this] { return ending_ || (task_ != nullptr && next_ < count_); });
        if (ending_) return;
        work(lock);
    }
}

// Take one task after the other while there are some; the lock is held whenever none is being done.
void Workers::work(std::unique_lock<std::mutex>& lock) {
    while (next_ < count_) {
        const std::size_t number = next_++;
        lock.unlock();
        std::exception_ptr failure;
        try {
            (*task_)(number);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        if (failure && !failure_) failure_ = std::move(failure);
        if (--open_ == 0) is_done_.notify_all();
    }
}

}  // namespace tyrex
