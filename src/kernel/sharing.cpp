// An engine as one of many that share a stream: what it takes over from the others.

#include <utility>

#include "engine.hpp"

namespace tyrex {

void Engine::join() { one_of_many_ = true; }

void Engine::follow(const Engine& other) {
    delay = other.delay;
    started_ = other.started_;
    latest_ = other.latest_;
    watermark_ = other.watermark_;
    now_ = other.now_;
    timers_until_ = other.timers_until_;
    next_sequence_ = other.sequence();
    ticks_ = other.ticks_;
    arrivals_ = other.arrivals_;
    late_events = other.late_events;
    for (std::size_t type = 0; type < stores_.size(); ++type) stores_[type]->arrived = other.stores_[type]->arrived;
    for (auto pending = other.pending_; !pending.empty(); pending.pop()) {
        const Pending& event = pending.top();
        pending_.push({event.time, event.arrival, event.type, Pending::elsewhere, {}});
    }
}

void Engine::mark(Sequence moment) {
    ticks_ = moment >> spacing;
    next_sequence_ = moment;
}

// What waits, in order.
std::vector<Pending> Engine::take_pending() {
    std::vector<Pending> all;
    for (; !pending_.empty(); pending_.pop()) all.push_back(pending_.top());
    return all;
}

void Engine::give_pending(std::vector<Pending> pending) {
    pending_ = decltype(pending_)({}, std::move(pending));
}

// Give an event that waits the texts of another engine as this one's own.
void Engine::hold_texts(Pending& pending, const Strings& from) {
    const auto own = [&](std::uint32_t id) {
        const std::uint32_t text = strings_.intern(from.text(id));
        strings_.retain(text);
        return text;
    };
    for (std::size_t c = 0; c < pending.values.size(); ++c) {
        Value& value = pending.values[c];
        if (stores_[pending.type]->columns()[c].type == Type::String && !value.null) {
            value = of_string(own(as_string(value.bits)));
        }
    }
    if (pending.id != no_id) pending.id = own(pending.id);
}

void Engine::release_texts(Pending& pending) {
    for (std::size_t c = 0; c < pending.values.size(); ++c) {
        if (stores_[pending.type]->columns()[c].type == Type::String && !pending.values[c].null) {
            strings_.release(as_string(pending.values[c].bits));
        }
    }
    if (pending.id != no_id) strings_.release(pending.id);
}

}  // namespace tyrex
