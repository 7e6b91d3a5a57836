import PhotoFixtures

/// The requests of a gallery: mostly thumbnails in two shapes, some pictures that fill a screen, and a few at full
/// size. The same in every run.
struct Gallery {
  enum Kind: String, CaseIterable, Sendable {
    case thumbnail = "thumbnail"
    case screen = "screen size"
    case full = "full size"
  }

  struct Request {
    let kind: Kind
    let benchPicture: BenchPicture
  }

  static let shares = "80% thumbnails (200x200 filled, 400x400), 15% 1600x1600, 5% full size"
  /// No photograph is larger, and photographs are not enlarged.
  static let fullTarget = Target(16_384, 16_384, "aspectFit")

  let requests: [Request]

  init(_ photographs: [Photograph], count: Int, seed: UInt64) {
    var random = SplitMix(state: seed)
    requests = (0..<count).map { _ in
      let photograph = photographs[Int.random(in: 0..<photographs.count, using: &random)]
      let (kind, target) = Self.target(Int.random(in: 0..<100, using: &random))
      return Request(kind: kind, benchPicture: BenchPicture(photograph: photograph, target: target))
    }
  }

  /// - Parameter percent: 0..<100.
  static func target(_ percent: Int) -> (Kind, Target) {
    switch percent {
    case 0..<40: (.thumbnail, Target(200, 200, "aspectFill"))
    case 40..<80: (.thumbnail, Target(400, 400, "aspectFit"))
    case 80..<95: (.screen, Target(1600, 1600, "aspectFit"))
    default: (.full, fullTarget)
    }
  }
}
