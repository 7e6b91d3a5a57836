/// A list of row numbers as one bound value of a statement, which reads it with `json_each(?)`.
enum RowNumbers {
  static func json(_ rows: some Sequence<some BinaryInteger>) -> String {
    "[\(rows.map { String($0) }.joined(separator: ","))]"
  }
}
