/// The parts of a response that benchmarks use.
struct BenchResponse: Sendable {
  /// A part of `multipart/mixed`, or the whole body.
  struct Frame: Sendable {
    /// Time from sending the request's first byte to receiving the frame's last one.
    var seconds = 0.0
    var bytes = 0
    var mediaType = ""
    /// The value of the Image-Result field.
    var imageResult = ""

    var isDegraded: Bool { imageResult.contains("degraded=?1") }
    var isProblem: Bool { mediaType.hasPrefix("application/problem") }
    var source: String {
      guard let found = imageResult.firstRange(of: "source=") else { return "?" }
      return String(imageResult[found.upperBound...].prefix { $0.isLetter })
    }
  }

  var status: Int
  var mediaType = ""
  var imageResult = ""
  var bodyBytes = 0
  var seconds = 0.0
  var frames: [Frame] = []
  var kept: [UInt8] = []

  /// The degraded frame, if there was one.
  var degraded: Frame? { frames.first { $0.isDegraded } }
  var final: Frame? { frames.last { !$0.isDegraded && !$0.isProblem } }

  /// `200`, or a problem with its name: `422 image-too-large`. For a multipart response, the problem of its last part.
  var outcome: String {
    let text = String(decoding: kept, as: UTF8.self)
    guard let found = text.firstRange(of: "/problems/") else { return "\(status)" }
    let name = text[found.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "-" }
    return status < 400 ? "\(status), then \(name)" : "\(status) \(name)"
  }
}
