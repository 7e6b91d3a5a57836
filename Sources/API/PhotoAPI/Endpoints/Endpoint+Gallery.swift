import HTTPCore

extension Endpoint {
  static let gallery: [Endpoint] = [
    Endpoint(
      .get, "/", "getGallery", needs: .open,
      APIOperation(
        "The gallery page.", responses: .validated("The page.", .media(["text/html"]), galleryFields)),
      handler: .immediate { _, routed throws(Problem) in GalleryRoute.page(routed.request) }),

    Endpoint(
      .get, "/gallery/{file}", "getGalleryFile", needs: .open,
      APIOperation(
        "A script, style sheet or icon of the gallery page.",
        responses: .validated(
          "The file.", .media(["text/javascript", "text/css", "image/svg+xml"]), galleryFields),
        problems: [404]),
      handler: .immediate { _, routed throws(Problem) in
        try GalleryRoute.file(routed.route["file"], routed.request)
      }),
  ]

  private static let galleryFields: [APIResponse.Header] = [.contentEncoding, .contentSecurityPolicy, .referrerPolicy]
}
