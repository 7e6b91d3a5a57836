/// Finds what an operator probably meant by a name that does not exist.
enum NearestName {
  /// The name with the fewest edits from `name`, ignoring case; the first one in alphabetical order if several have as
  /// few. `nil` if even the nearest one differs in more than a third of its letters.
  static func find(_ name: String, among names: some Sequence<String>) -> String? {
    let wanted = Array(name.lowercased())
    var best: (name: String, edits: Int)?
    for candidate in names.sorted() {
      let letters = Array(candidate.lowercased())
      let edits = edits(wanted, letters)
      let limit = max(1, max(wanted.count, letters.count) / 3)
      if edits <= limit, edits < best?.edits ?? .max { best = (candidate, edits) }
    }
    return best?.name
  }

  /// A hint for the end of an error message; empty if no name is near.
  static func hint(_ name: String, among names: some Sequence<String>) -> String {
    find(name, among: names).map { "; did you mean \($0)?" } ?? ""
  }

  /// The fewest insertions, removals, replacements and swaps of neighbours that turn one text into the other, where no
  /// letter is edited twice (optimal string alignment).
  static func edits(_ first: [Character], _ second: [Character]) -> Int {
    var rows = [Array(0...second.count)]
    for i in 0..<first.count {
      var row = [i + 1]
      for j in 0..<second.count {
        var edits = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (first[i] == second[j] ? 0 : 1))
        if i > 0, j > 0, first[i] == second[j - 1], first[i - 1] == second[j] {
          edits = min(edits, rows[i - 1][j - 1] + 1)
        }
        row.append(edits)
      }
      rows.append(row)
    }
    return rows[first.count][second.count]
  }
}
