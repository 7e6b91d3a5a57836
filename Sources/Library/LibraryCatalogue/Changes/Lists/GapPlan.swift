/// The arithmetic of an order with gaps: new positions for a window of neighbouring elements, when the gap for an
/// insertion is full. ``AlbumOrder`` and ``CollectionOrder`` read and write the positions.
struct GapPlan {
  /// The gap between elements that are appended.
  static let gap: Int64 = 1 << 20
  /// The minimum gap between two elements after a renumbering.
  private static let minimumGap: Int64 = 1 << 8
  /// The initial number of elements to renumber on each side.
  static let initialWindow = 16

  private let lower: Int64
  private let step: Int64
  private let added: Int

  /// `nil` if the window is too small.
  ///
  /// - Parameters:
  ///   - before: the position before the window; `nil` if the window contains the first element.
  ///   - after: the position after the window; `nil` if the window contains the last element.
  ///   - last: the last position in the window.
  ///   - count: the number of elements in the window.
  ///   - added: the number of elements to insert.
  init?(before: Int64?, after: Int64?, last: Int64?, count: Int, added: Int) {
    let steps = Int64(count + added + 1)
    // There is no limit before the first and after the last element.
    let lower = before ?? (after ?? last ?? 0) - steps * Self.gap
    let upper = after ?? lower + steps * Self.gap
    guard upper - lower >= steps * Self.minimumGap else { return nil }
    (self.lower, self.added) = (lower, added)
    step = Self.step(between: lower, and: upper, for: count + added)
  }

  /// The new position of an element of the window.
  ///
  /// - Parameters:
  ///   - offset: in the window, without the elements to insert.
  ///   - isAfterInsertion: the other elements are inserted before this one.
  func target(_ offset: Int, isAfterInsertion: Bool) -> Int64 {
    lower + step * Int64(offset + 1 + (isAfterInsertion ? added : 0))
  }

  /// The distance between positions if `count` elements are inserted between two positions in use; 0 if they do not
  /// fit.
  static func step(between lower: Int64, and upper: Int64, for count: Int) -> Int64 {
    (upper - lower) / Int64(count + 1)
  }
}
