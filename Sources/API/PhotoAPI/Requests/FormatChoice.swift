// The format of the response to `format=auto`. Only formats that `Accept` lists by name count: browsers send */* too,
// and many programs can't show every format that it allows. So clients fall into few classes, which keeps caches small.

import HTTPCore
import ImageService
import PhotoModel

/// The format of the first response, and a smaller one that may replace it.
struct FormatChoice: Sendable, Hashable {
  let first: OutputFormat
  /// `nil` if the client lists no smaller format, or none has an encoder.
  var smaller: OutputFormat?

  /// The format that a request names.
  init(_ named: OutputFormat) { first = named }

  /// - Parameters:
  ///   - excluded: a format that the picture is too large for.
  ///   - isPart: whether the query asks for a multipart response.
  ///   - fits: whether the picture is small enough for a format's encoder.
  /// - Throws: 406 if the client accepts no format that the picture can have.
  init(
    _ accept: Accept, hasAlpha: Bool, encoders: AutomaticEncoders, excluding excluded: OutputFormat? = nil,
    isPart: Bool = false, fits: (OutputFormat) -> Bool = { _ in true }
  ) throws(Problem) {
    func quality(_ format: OutputFormat) -> Int { accept.quality(ofPicturesAs: format, isPart: isPart) }
    // The formats that save the most bytes come first.
    let listed = [OutputFormat.jxl, .avif, .webp].filter {
      encoders.contains($0) && accept.namesExplicitly($0.mediaType)
    }
    // In order of preference: WebP is smaller than PNG and keeps alpha, JPEG has no alpha.
    let cheap: [OutputFormat] = hasAlpha ? (listed.contains(.webp) ? [.webp, .png] : [.png]) : [.jpeg, .png]
    var candidates = cheap.filter { quality($0) > 0 }
    // Firefox lists image/png, and JPEG only through image/*;q=0.8. It does not want photographs as PNG.
    let prefersPNG = accept.namesExplicitly(OutputFormat.jpeg.mediaType) || quality(.jpeg) == 0
    if !hasAlpha, !prefersPNG { candidates.removeAll { $0 == .png } }
    var fitting = candidates.filter { $0 != excluded && fits($0) }
    if fitting.isEmpty {
      candidates += listed.reversed()
      fitting = candidates.filter { $0 != excluded && fits($0) }
    }
    // A picture that is too large for all of them is refused by the render, which knows how much memory it needs.
    if !fitting.isEmpty { candidates = fitting }
    guard let best = candidates.map(quality).max(), let first = candidates.first(where: { quality($0) == best }) else {
      let names = cheap.map(\.mediaType).joined(separator: " or ")
      throw .notAcceptable(
        "This image is available as \(names), which the request's Accept excludes. Set format to override.")
    }
    self.first = first
    smaller = listed.prefix { $0 != first }.first { quality($0) >= best }
  }

  /// The smaller format, if the first one is the format in which windows prepare pictures for clients that list no
  /// format; otherwise `nil`.
  func preparedSmaller(hasAlpha: Bool) -> OutputFormat? { first == (hasAlpha ? .png : .jpeg) ? smaller : nil }
}

extension Accept {
  /// The quality of pictures in a format, 0...1000. A field that says nothing about images, but names multipart types,
  /// does not restrict the format of the parts.
  ///
  /// - Parameter isPart: whether the query asks for a multipart response, as if the field named its type.
  func quality(ofPicturesAs format: OutputFormat, isPart: Bool = false) -> Int {
    let hasNoImageRange = !mentionsType("image") && quality(of: "image/x") == 0
    return hasNoImageRange && (isPart || namesType("multipart")) ? 1000 : quality(of: format.mediaType)
  }
}
