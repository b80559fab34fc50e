#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine.hpp"
#include "source.hpp"
#include "workers.hpp"

namespace tyrex {

// How the events of one type are divided among the engines of a place.
struct Route {
    enum class By : std::uint8_t {
        Nobody,  // looks at them
        First,   // engine has them all
        Time,    // so that equal events are together
        Value,   // of a column
    };

    By by = By::Nobody;
    int column = 0;  // -1 is the timestamp
};

// Engines that have the same rules, each for its share of the events.
struct Place {
    std::size_t first;  // among the engines of the team
    std::size_t count;
    std::vector<Route> routes;  // for each type
};

// Engines that look at one stream together, each at its share, in several threads.
//
// Each learns of all events, in order, so that they agree on time, on what is late and on the order.
class Team {
public:
    Team(std::vector<std::shared_ptr<Engine>> engines, std::size_t threads);

    const std::vector<std::shared_ptr<Engine>>& engines() const { return engines_; }

    // Divide the events anew, those too that wait for the watermark.
    void set_places(std::vector<Place> places);

    // What comes of it, for each engine. Whoever calls has them all for himself.
    std::vector<std::shared_ptr<Batch>> send(const Parcel& parcel);
    std::vector<std::shared_ptr<Batch>> advance(Time time);
    std::vector<std::shared_ptr<Batch>> flush(bool has_until, Time until);

private:
    struct Shares {
        std::vector<std::vector<std::uint16_t>> rows;
        std::vector<Share> engines;
    };

    Shares shares_of(const Parcel& parcel) const;
    void divide(const Parcel& parcel, const Place& place, Shares& shares) const;
    void reroute();
    bool belongs_to(std::size_t engine, const Pending& pending, const Strings& strings) const;
    template <typename Action>
    std::vector<std::shared_ptr<Batch>> each(bool in_threads, Action action);

    std::vector<std::shared_ptr<Engine>> engines_;
    std::vector<Place> places_;
    Workers workers_;
};

}  // namespace tyrex
