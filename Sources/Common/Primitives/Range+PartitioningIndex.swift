extension Range<Int> {
  /// Binary search: the first index for which a predicate is true, or `upperBound` if there is none. O(log n).
  ///
  /// - Parameter isAfter: `false` for all indexes before some index, and `true` from there on.
  @inlinable
  package func partitioningIndex(where isAfter: (Int) -> Bool) -> Int {
    var (low, high) = (lowerBound, upperBound)
    while low < high {
      let middle = low + (high - low) / 2
      if isAfter(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
