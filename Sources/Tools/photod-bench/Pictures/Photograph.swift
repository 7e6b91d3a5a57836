import Foundation

/// An original, and photod's description of it.
struct Photograph {
  let path: String
  let storedSize: Dimensions
  let isJPEG: Bool
  let isProgressive: Bool
  let hasAlpha: Bool
  /// Whether it is stored turned by a quarter.
  let isTurned: Bool

  var name: String { (path as NSString).lastPathComponent }

  /// The property that determines its cost most.
  var kind: String { !isJPEG ? "PNG" : isProgressive ? "progressive JPEG" : "baseline JPEG" }

  init(path: String, photod: PhotodCommand) throws {
    let plan = try photod.plan(path, Target(16, 16, "aspectFit"), format: "png")
    self.path = path
    storedSize = plan.storedSize
    isJPEG = plan.format == "jpeg"
    isProgressive = plan.isProgressive
    hasAlpha = plan.hasAlpha
    isTurned = plan.orientation > 4
  }
}
