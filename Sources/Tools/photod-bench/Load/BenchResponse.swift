/// What came back, as far as a benchmark wants to know.
struct BenchResponse: Sendable {
  /// A part of `multipart/mixed`, or the whole.
  struct Frame: Sendable {
    /// From the request's first byte sent to the frame's last one received.
    var seconds = 0.0
    var bytes = 0
    var mediaType = ""
    /// The field as it is sent.
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

  /// The frame that was not the last word, where there is one.
  var degraded: Frame? { frames.first { $0.isDegraded } }
  var final: Frame? { frames.last { !$0.isDegraded && !$0.isProblem } }

  /// `200`, or a problem with its name: `422 image-too-large`; of a multipart answer that of its last part.
  var outcome: String {
    let text = String(decoding: kept, as: UTF8.self)
    guard let found = text.firstRange(of: "/problems/") else { return "\(status)" }
    let name = text[found.upperBound...].prefix { $0.isLetter || $0.isNumber || $0 == "-" }
    return status < 400 ? "\(status), then \(name)" : "\(status) \(name)"
  }
}
