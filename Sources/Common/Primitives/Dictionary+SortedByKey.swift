extension Dictionary where Key == String {
  /// The members in the order of their keys.
  ///
  /// It sorts an array of strings, because a sort of anything else adds 4 KB of code to the program. For dictionaries of
  /// a few members: it looks up each.
  package var sortedByKey: [(key: String, value: Value)] {
    Array(keys).sorted().compactMap { key in self[key].map { (key: key, value: $0) } }
  }
}
