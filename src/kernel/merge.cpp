#include "merge.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>

namespace tyrex {

namespace {

// The moment at which something happened: events of one time in the order of their arrival, then timers.
using Moment = std::pair<Time, std::uint64_t>;

constexpr Moment never{std::numeric_limits<Time>::max(), ~std::uint64_t{0}};

}  // namespace

// The runs of one part that are not yet put in order.
struct Merge::Cursor {
    std::uint32_t part;
    const Part* from;
    std::size_t next = 0;

    // Of the runs that follow from the event at hand: the generation of each, and its place among the pieces
    std::size_t start = 0;
    std::size_t end = 0;
    std::size_t parent = 0;
    std::vector<std::uint32_t> generations;
    std::vector<std::size_t> places;

    const Runs& runs() const { return from->batch->runs; }
    bool at_end() const { return next == runs().size(); }
    Moment moment(std::size_t run) const { return {runs()[run].time, from->batch->causes[run].event}; }
    Moment moment() const { return at_end() ? never : moment(next); }

    void meet() {
        start = end = parent = next;
        while (end < runs().size() && moment(end) == moment(next)) ++end;
        generations.assign(end - start, 0);
        places.assign(end - start, 0);
    }

    // What the next run comes after: first its generation; among the children of the event the order of their
    // rules, else the place of its parent. Parents of different parts are different.
    std::pair<std::uint32_t, std::uint64_t> rank() {
        const Cause& cause = from->batch->causes[next];
        if (cause.parent == no_parent) return {0, from->engine->rule(runs()[next].rule).order};
        while (runs()[parent].number + runs()[parent].count <= cause.parent) ++parent;
        generations[next - start] = generations[parent - start] + 1;
        return {generations[next - start], places[parent - start]};
    }
};

Merge::Merge(std::vector<Part> given) : parts(std::move(given)) {
    std::vector<Cursor> cursors;
    std::size_t runs = 0;
    for (std::uint32_t part = 0; part < parts.size(); ++part) {
        cursors.push_back({part, &parts[part], 0, 0, 0, 0, {}, {}});
        runs += parts[part].batch->runs.size();
    }
    pieces.reserve(runs);
    std::vector<Cursor*> meeting;
    while (pieces.size() < runs) {
        Moment first = never;
        Moment second = never;
        meeting.clear();
        for (Cursor& cursor : cursors) {
            if (cursor.at_end()) continue;
            const Moment moment = cursor.moment();
            if (meeting.empty() || moment < first) {
                second = first;
                first = moment;
                meeting.assign(1, &cursor);
            } else if (moment == first) {
                meeting.push_back(&cursor);
            } else {
                second = std::min(second, moment);
            }
        }
        if (meeting.size() > 1) {
            put_generations(meeting);
            continue;
        }
        Cursor& cursor = *meeting[0];
        do {
            put(cursor.part, cursor.next++);
        } while (!cursor.at_end() && (cursor.moment() < second || cursor.moment() == first));
    }
}

void Merge::put(std::uint32_t part, std::size_t run) {
    pieces.push_back({part, static_cast<std::uint32_t>(run), size});
    size += parts[part].batch->runs[run].count;
}

// Put in order what several parts made of one event: what it made itself, in the order of rules, then what those
// made, and so on. Each part has its own in that order already.
void Merge::put_generations(std::vector<Cursor*>& meeting) {
    for (Cursor* cursor : meeting) cursor->meet();
    while (true) {
        Cursor* best = nullptr;
        std::pair<std::uint32_t, std::uint64_t> lowest;
        for (Cursor* cursor : meeting) {
            if (cursor->next == cursor->end) continue;
            const auto rank = cursor->rank();
            if (best == nullptr || rank < lowest) {
                best = cursor;
                lowest = rank;
            }
        }
        if (best == nullptr) return;
        best->places[best->next - best->start] = pieces.size();
        put(best->part, best->next++);
    }
}

const Piece& Merge::piece_of(std::uint64_t number) const {
    return *(std::upper_bound(pieces.begin(), pieces.end(), number,
                              [](std::uint64_t n, const Piece& piece) { return n < piece.number; }) -
             1);
}

const std::vector<Merge::Table>& Merge::tables() {
    if (!tables_.empty()) return tables_;
    std::unordered_map<std::uint32_t, std::size_t> places;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const Run& made = run(pieces[i]);
        const std::uint32_t type = parts[pieces[i].part].batch->tables[made.table].type;
        const auto [found, added] = places.try_emplace(type, tables_.size());
        if (added) tables_.push_back({type, 0, {}});
        tables_[found->second].rows += made.count;
        tables_[found->second].pieces.push_back(i);
    }
    return tables_;
}

// An event from outside is offered before what follows from it, and composites in their order.
std::vector<MergedHit> Merge::hits() const {
    std::vector<std::vector<std::uint64_t>> numbers;
    for (const Part& part : parts) numbers.emplace_back(part.batch->runs.size());
    for (const Piece& piece : pieces) numbers[piece.part][piece.run] = piece.number;
    std::vector<MergedHit> found;
    for (std::uint32_t part = 0; part < parts.size(); ++part) {
        const Batch& batch = *parts[part].batch;
        for (std::uint32_t hit = 0; hit < batch.hits.size(); ++hit) {
            const SubscriptionHit& given = batch.hits[hit];
            std::uint64_t number = 0;
            if (given.composite) {
                const Run& run = Engine::run_of(batch, given.number);
                const auto place = static_cast<std::size_t>(&run - batch.runs.data());
                number = numbers[part][place] + (given.number - run.number);
            }
            found.push_back({part, hit, number});
        }
    }
    const auto moment = [this](const MergedHit& hit) {
        const SubscriptionHit& given = parts[hit.part].batch->hits[hit.hit];
        return std::tuple(given.time, given.cause, given.composite, hit.number);
    };
    std::stable_sort(found.begin(), found.end(),
                     [&](const MergedHit& x, const MergedHit& y) { return moment(x) < moment(y); });
    return found;
}

}  // namespace tyrex
