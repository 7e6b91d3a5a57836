import ImageRender

/// How a frame's pixels were made of the original's. Two ways to the same size give other bytes, so it is part of a strong
/// entity tag; it is no part of what is asked for, so it is in no key.
package enum Derivation: Sendable, Hashable {
  /// From the original, decoded as this frame alone wants it.
  case original
  /// From a decode of the original that was shared, at a larger scale than this frame alone wants: in eighths.
  case sharedDecode(eighths: Int)
  /// From a derivative, by its rung and the scale that it was itself decoded at.
  case derivative(side: Int, eighths: Int)

  /// The derivation of a frame that was decoded at a scale, where it would have been at another one alone.
  init(decodedEighths: Int, alone: Int) {
    self = decodedEighths == alone ? .original : .sharedDecode(eighths: decodedEighths)
  }

  var text: String {
    switch self {
    case .original: "original"
    case .sharedDecode(let eighths): "original@\(eighths)"
    case .derivative(let side, let eighths): "derivative@\(DerivativeLadder.epoch).\(side).\(eighths)"
    }
  }

  /// All that there can be, in an order that stored frames depend on within an epoch.
  package static let all: [Derivation] = {
    let scales = [1, 2, 4, 8]
    return [.original] + scales.dropFirst().map { .sharedDecode(eighths: $0) }
      + DerivativeLadder.standard.rungs.flatMap { rung in
        scales.map { .derivative(side: rung.side, eighths: $0) }
      }
  }()
}
