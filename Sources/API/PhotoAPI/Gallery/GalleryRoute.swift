import HTTPCore

/// `GET /` and `GET /gallery/{file}`: the gallery page. It is open to everyone: it contains no data of the library, and
/// requests all data like any other client.
enum GalleryRoute {
  /// Nothing is loaded from elsewhere, and no inline script or style runs. Pictures may be `data:` URLs: placeholders.
  static let contentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self'; "
    + "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

  static func page(_ request: HTTPRequest) -> HTTPResponse {
    answer(GalleryFile.page, request)
  }

  static func file(_ name: String, _ request: HTTPRequest) throws(Problem) -> HTTPResponse {
    guard let file = GalleryFile.all[name] else { throw .noSuchResource }
    return answer(file, request)
  }

  private static func answer(_ file: GalleryFile, _ request: HTTPRequest) -> HTTPResponse {
    let fields = [
      (name: "Content-Security-Policy", value: contentSecurityPolicy), ("X-Content-Type-Options", "nosniff"),
      ("Referrer-Policy", "no-referrer"),
    ]
    // The browser revalidates at each load, so it notices a new version of the program.
    return JSONResponse(
      file.bytes, tag: file.entityTag, cacheControl: "no-cache", mediaType: file.mediaType, more: fields
    ).response(to: request.head) { file.gzipped }
  }
}
