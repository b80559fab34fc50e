#include "static_index.hpp"

#include <algorithm>

namespace tyrex {

StaticIndex::ByColumn& StaticIndex::by_column(int column) {
    for (ByColumn& by : columns_) {
        if (by.column == column) return by;
    }
    columns_.push_back({column, store_.type(column), {}, {}, {}});
    return columns_.back();
}

void StaticIndex::add(std::uint32_t predicate, const Access& access) {
    ++size_;
    if (access.kind == Access::Kind::Always) {
        always_.push_back(predicate);
        return;
    }
    ByColumn& by = by_column(access.column);
    const Bound bound{access.bits, access.strict, predicate};
    const auto sooner = [&](int sign) {
        return [&by, sign](const Bound& x, const Bound& y) {
            const int order = sign * compare(x.bits, y.bits, by.type);
            return order < 0 || (order == 0 && !x.strict && y.strict);
        };
    };
    switch (access.kind) {
        case Access::Kind::Equal: by.equal[access.bits].push_back(predicate); break;
        case Access::Kind::Above:
            by.above.insert(std::upper_bound(by.above.begin(), by.above.end(), bound, sooner(1)), bound);
            break;
        default:
            by.below.insert(std::upper_bound(by.below.begin(), by.below.end(), bound, sooner(-1)), bound);
            break;
    }
}

void StaticIndex::remove(std::uint32_t predicate, const Access& access) {
    --size_;
    if (access.kind == Access::Kind::Always) {
        std::erase(always_, predicate);
        return;
    }
    ByColumn& by = by_column(access.column);
    const auto is_it = [predicate](const Bound& bound) { return bound.predicate == predicate; };
    switch (access.kind) {
        case Access::Kind::Equal: {
            const auto at = by.equal.find(access.bits);
            std::erase(at->second, predicate);
            if (at->second.empty()) by.equal.erase(at);
            break;
        }
        case Access::Kind::Above: std::erase_if(by.above, is_it); break;
        default: std::erase_if(by.below, is_it); break;
    }
}

}  // namespace tyrex
