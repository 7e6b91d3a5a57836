// Adjustments as clients send them and as the catalogue stores them: a JSON list of operations. Parsing is strict, so
// that stored adjustments can always be rendered.

/// The operations of an edit, in the order in which they are applied. Valid: every value is in its range.
package struct Adjustments: Sendable, Hashable {
  /// The format of ``operations``.
  package static let formatIdentifier = "photod.adjustments"
  package static let formatVersion = "1"

  /// The maximum number of operations.
  static let maximumOperations = 100
  /// The maximum number of sharpness and noise reduction operations together: each keeps rows in memory.
  static let maximumNeighbourOperations = 4
  /// The maximum number of points of a tone curve.
  static let maximumCurvePoints = 64
  /// The aspect ratios that a perspective operation may state, width by height.
  static let aspectRatios = 0.01...100.0

  package let operations: [AdjustmentOperation]

  /// - Parameter operations: within the limits.
  package init(_ operations: [AdjustmentOperation]) {
    self.operations = operations
  }

  package var isEmpty: Bool { operations.isEmpty }

  /// Whether the operations are only crops, quarter turns and flips, which change no pixel: see ``AdjustedGeometry``.
  package var onlyMovesPixels: Bool {
    operations.allSatisfy { operation in
      switch operation {
      case .crop, .rotate, .flip: true
      case .straighten, .perspective, .tone, .toneCurve, .vignette: false
      }
    }
  }
}

/// Why a list of operations was refused.
package struct AdjustmentError: Error, Sendable, Hashable {
  /// The position of the operation at fault; `nil` if it is the list itself.
  package var index: Int?
  /// The type of the operation at fault, if it is known.
  var type: String?
  var reason: String

  package init(index: Int? = nil, type: String? = nil, _ reason: String) {
    self.index = index
    self.type = type
    self.reason = reason
  }

  /// A sentence that names the operation.
  package var description: String {
    guard let index else { return "operations \(reason)." }
    return "operations[\(index)]\(type.map { " (\($0))" } ?? "") \(reason)."
  }
}
