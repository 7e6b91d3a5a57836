import HTTPCore
import ImageService
import Logging
import PhotoModel

/// Sends an open original, or the ranges of it that a request asks for.
struct OriginalSender: Sendable {
  /// A body up to this length is read into memory at once. Players ask for many small ranges, and switches between the
  /// connection's thread and the thread that reads files cost more than such a copy.
  private static let copiedBytes: Int64 = 128 << 10

  /// Calls the sources of bodies, and waits for the disk.
  let files: WorkQueue
  let maximumRanges: Int
  let logger: Logger

  /// The field that announces ranges, unless they are ignored.
  var rangeFields: [(name: String, value: String)] { maximumRanges > 0 ? [("Accept-Ranges", "bytes")] : [] }

  /// Reads the file: call it on a queue that may wait for the disk.
  ///
  /// - Parameters:
  ///   - slice: the bytes of the file that are the representation.
  ///   - type: the media type of the representation.
  ///   - fields: the fields of the response without `Content-Type`, `Content-Range` and `Content-Length`.
  /// - Throws: 416 with the size; 503 if the file has changed.
  func send(
    _ original: ServableOriginal, _ slice: Range<Int64>, type: String, fields: [(name: String, value: String)],
    validators: Validators, _ head: RequestHead, _ reply: Reply
  ) throws(Problem) {
    let size = slice.count
    let response: (status: HTTPStatus, fields: [(name: String, value: String)], parts: [OriginalBody.Part])
    switch ByteRanges(head, size: size, validators: validators, limit: maximumRanges) {
    case .whole: response = (200, [("Content-Type", type)], [.original(slice)])
    case .unsatisfiable:
      var problem = Problem.rangeNotSatisfiable(size: size)
      problem.fields["Content-Range"] = "bytes */\(size)"
      throw problem
    case .parts(let ranges):
      let (field, parts) = Self.parts(ranges, of: slice, type: type)
      response = (206, field, parts)
    }
    let body = OriginalBody(original.source, original.overlay, response.parts)
    do throws(BodySourceError) {
      if body.length <= Self.copiedBytes, head.method != .head {
        return reply.send(HTTPResponse(response.status, fields + response.fields, body: try body.bytes()))
      }
      try reply.send(
        ResponseHead(response.status, fields + response.fields), body: body, logger: logger
      ) { [files] in files.submit($0) }
    } catch {
      throw reply.problem(error, "reading an original failed", logger)
    }
  }

  /// The fields and parts of a 206 response (RFC 9110 §15.3.7).
  private static func parts(
    _ ranges: [Range<Int>], of slice: Range<Int64>, type: String
  ) -> (fields: [(name: String, value: String)], parts: [OriginalBody.Part]) {
    func contentRange(_ range: Range<Int>) -> String {
      "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(slice.count)"
    }
    func part(_ range: Range<Int>) -> OriginalBody.Part {
      .original(slice.lowerBound + Int64(range.lowerBound)..<slice.lowerBound + Int64(range.upperBound))
    }
    if ranges.count == 1 {
      return ([("Content-Type", type), ("Content-Range", contentRange(ranges[0]))], [part(ranges[0])])
    }
    let writer = MultipartWriter(boundary: Boundary.make())
    var parts: [OriginalBody.Part] = []
    for (index, range) in ranges.enumerated() {
      let head = writer.partHead([("Content-Type", type), ("Content-Range", contentRange(range))])
      parts += [.bytes((index == 0 ? writer.opening : writer.delimiter) + head), part(range)]
    }
    parts.append(.bytes(writer.closing))
    return ([("Content-Type", "multipart/byteranges; boundary=\(writer.boundary)")], parts)
  }
}
