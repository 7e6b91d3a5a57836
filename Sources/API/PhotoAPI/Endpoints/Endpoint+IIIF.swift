import HTTPCore
import PhotoModel

extension Endpoint {
  /// The IIIF APIs.
  static let iiif: [Endpoint] = [
    Endpoint(
      .get, "/iiif/3/{localIdentifier}", "getIIIFImageService", needs: .scope(.read), signedAccess: .albumAsset,
      allowsAllOrigins: true,
      APIOperation(
        "Redirects to the image information document of an asset (IIIF Image API 3.0).",
        responses: [
          APIResponse(303, "The path of info.json is in Location.", .none, [.location, .cacheControl])
        ], problems: [404, 415, 500]),
      handler: .lookup { api, routed throws(Problem) in try api.iiif.redirect(routed) }),

    Endpoint(
      .get, "/iiif/3/{localIdentifier}/info.json", "getIIIFImageInformation", needs: .scope(.read),
      signedAccess: .albumAsset, allowsAllOrigins: true,
      APIOperation(
        "The image information document of an asset: sizes, tiles and limits (IIIF Image API 3.0 §5).",
        responses: .validated(
          "The document; as JSON-LD if Accept names it.", .media(["application/json", "application/ld+json"])),
        problems: [404, 415, 500]),
      handler: .lookup { api, routed throws(Problem) in try api.iiif.info(routed) }),

    Endpoint(
      .get, "/iiif/3/{localIdentifier}/{region}/{size}/{rotation}/{file}", "getIIIFImage", needs: .scope(.read),
      signedAccess: .image, allowsAllOrigins: true,
      APIOperation(
        "A picture of an asset (IIIF Image API 3.0 §4, level 2).",
        description: """
          region: full, square, x,y,w,h in pixels, or pct:x,y,w,h. size: max, w,, ,h, w,h, !w,h or pct:n; nothing is \
          enlarged, so ^ before a larger size gives 501. rotation: 0, 90, 180 or 270, with ! before it to mirror \
          first. file: default, color, gray or bitonal, then .jpg, .png, or .webp if its encoder is installed. Link \
          has the canonical path.
          """,
        query: [.text("v", "The required contentVersion; makes the response immutable.")],
        responses: [APIResponse].validated(
          "The picture.", .media(["image/jpeg", "image/png", "image/webp"]),
          [.lastModified, .imageResult, .acceptRanges, .serverTiming, .link],
          notModified: "The picture matches If-None-Match.")
          + [
            APIResponse(
              206, "The requested byte range; several ranges as multipart/byteranges.",
              .media(["image/jpeg", "image/png", "image/webp", "multipart/byteranges"]),
              [
                .entityTag, .lastModified, .cacheControl, .acceptRanges, .contentRange, .imageResult, .serverTiming,
                .link,
              ])
          ],
        problems: [404, 415, 416, 422, 500, 501, 502, 504, 507]),
      handler: .custom { api, routed throws(Problem) in try api.iiif.image(routed) }),

    Endpoint(
      .get, "/iiif/presentation/3/{collection}/manifest", "getIIIFManifest", needs: .scope(.read),
      allowsAllOrigins: true,
      APIOperation(
        "A collection's assets as the canvases of a manifest (IIIF Presentation API 3.0).", query: pageQuery,
        responses: .validated(
          "The manifest, or a page of it; as JSON-LD if Accept names it.",
          .media(["application/json", "application/ld+json"]), [.contentEncoding, .link]), problems: [404, 500]),
      handler: .custom { api, routed throws(Problem) in try api.presentation.manifest(routed) }),

    Endpoint(
      .get, "/iiif/presentation/3/collection/{collection}", "getIIIFCollection", needs: .scope(.read),
      allowsAllOrigins: true,
      APIOperation(
        """
        The albums and folders in a folder, as manifests and collections (IIIF Presentation API 3.0); top is the top \
        level.
        """, query: pageQuery,
        responses: .validated(
          "The collection, or a page of it; as JSON-LD if Accept names it.",
          .media(["application/json", "application/ld+json"]), [.contentEncoding, .link]), problems: [404, 500]),
      handler: .custom { api, routed throws(Problem) in try api.presentation.collection(routed) }),
  ]

  private static let pageQuery: [QueryParameter] = [
    .number("limit", 1...1000, default: 500, "Items of a page. Link has the next page."), .cursor,
  ]
}
