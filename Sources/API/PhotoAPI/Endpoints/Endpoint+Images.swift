import HTTPCore
import PhotoModel

extension Endpoint {
  /// Images, and the requests for them that are active.
  static let images: [Endpoint] = [
    Endpoint(
      .get, "/v1/assets/{localIdentifier}/image", "getImage", needs: .scope(.read), signedAccess: .image,
      APIOperation(
        "An asset's image, upright, at the requested size.", query: imageQuery,
        responses: imageResponses, problems: [404, 406, 409, 415, 416, 422, 500, 502, 504, 507]),
      handler: .custom { api, routed throws(Problem) in
        try api.image.answer(routed.identifier("localIdentifier"), routed)
      }),

    Endpoint(
      .post, "/v1/images", "getImages", needs: .scope(.read),
      APIOperation(
        "Many frames in one response, in the order in which they become ready.", body: "ImageBatch",
        responses: [
          APIResponse(
            200,
            """
            One part for each asset, with Content-Type, Content-Length, Content-Location (the path of the same frame \
            as a single image), Image-Result with the part's status, and for a final frame its ETag. A failure is a \
            part of type application/problem+json. Image-Result of the response has the request-id of the whole \
            request.
            """,
            .media(["multipart/mixed"]), [.cacheControl, .imageResult])
        ],
        problems: [406, 500]),
      handler: .custom { api, routed throws(Problem) in try api.batch.answer(routed) }),

    // An administrator sees the requests of all owners.
    Endpoint(
      .get, "/v1/requests", "listRequests", needs: .scope(.read, .admin),
      APIOperation(
        """
        The caller's active image requests, oldest first. An administrator who sees the whole library gets those of \
        all callers.
        """,
        responses: [.json(200, "The requests.", "RequestList")]),
      handler: .immediate { api, routed throws(Problem) in
        try api.requests.list(routed.principal)
      }),

    Endpoint(
      .get, "/v1/requests/{requestID}", "getRequest", needs: .scope(.read, .admin),
      APIOperation(
        "One image request: active, or ended within the last minute.",
        responses: [.json(200, "The request.", "Request")], problems: [404]),
      handler: .immediate { api, routed throws(Problem) in
        try api.requests.get(routed.route["requestID"], routed.principal)
      }),

    Endpoint(
      .delete, "/v1/requests/{requestID}", "cancelRequest", needs: .scope(.read, .admin),
      APIOperation(
        """
        Cancels an active request. Its response is 409, or ends with a part with cancelled=?1. In a batch, each \
        missing frame becomes such a part. Work that no other request needs stops.
        """,
        responses: [APIResponse(204, "The request was cancelled.", .none, [.cacheControl])], problems: [404]),
      handler: .immediate { api, routed throws(Problem) in
        try api.requests.cancel(routed.route["requestID"], routed.principal)
      }),
  ]

  private static let imageTypes = OutputFormat.allCases.map(\.mediaType)

  private static let imageResponses: [APIResponse] =
    [APIResponse].validated(
      "The frame, or the frames.",
      .media(imageTypes + ["multipart/mixed", "multipart/x-mixed-replace"]),
      [.lastModified, .imageResult, .acceptRanges, .serverTiming],
      notModified: "The frame matches If-None-Match.")
    + [
      APIResponse(
        206, "The requested byte range of a final frame; several ranges as multipart/byteranges.",
        .media(imageTypes + ["multipart/byteranges"]),
        [.entityTag, .lastModified, .cacheControl, .acceptRanges, .contentRange, .imageResult, .serverTiming])
    ]

  private static let imageQuery: [QueryParameter] = [
    .text(
      "preset",
      """
      Short for a set of parameters: thumbnail (200x200, aspectFill), aspectRatioThumbnail (360x360), fullScreenImage \
      (2048x2048), fullResolutionImage (max), or a preset of the settings. Other parameters may be added; a parameter \
      of the preset with another value gives 400.
      """,
      pattern: "^[A-Za-z0-9._-]{1,64}$", example: "thumbnail"),
    .text(
      "targetSize", "max, or WxH in pixels, sides 1...16384.", default: "max", pattern: "^(max|[0-9]+x[0-9]+)$",
      example: "400x400"),
    .word(
      "contentMode", ImageQuery.ContentModeParameter.self, default: .aspectFit,
      "Fit inside the target, or cover it and crop."),
    .word(
      "resizeMode", ResizeMode.self, default: .exact,
      """
      exact: the requested size. fast: the smallest of the scales 1/8, 1/4, 1/2 and 1 that is not smaller, never \
      cropped, for the client to scale down. none: full size.
      """),
    .word(
      "deliveryMode", DeliveryMode.self, default: .highQualityFormat,
      """
      highQualityFormat: the final frame. opportunistic: a degraded frame and then the final one. fastFormat: one \
      frame, which may be degraded.
      """),
    .text(
      "normalizedCropRect",
      """
      x,y,width,height, each 0...1: a part of the upright picture, cropped before the size rules apply, and scaled \
      without the pixels around it. Needs resizeMode=exact.
      """,
      example: "0.25,0.25,0.5,0.5"),
    .text(
      "cropAnchor",
      """
      The part that aspectFill keeps: center; auto, the asset's most important regions, or else the most salient \
      point; or x,y, a point of the upright picture, each 0...1.
      """,
      default: "center", pattern: "^(center|auto|[0-9.]+,[0-9.]+)$", example: "auto"),
    .word("version", ImageVersion.self, default: .current),
    .networkAccess,
    .flag(
      "allowSecondaryDegradedImage",
      "With deliveryMode opportunistic: allows a second, better degraded frame before the final one."),
    .word(
      "format", ImageQuery.Format.self, default: .auto,
      """
      auto follows Accept and keeps alpha. If a frame is requested again, a smaller encoding that Accept lists by name \
      may replace it. webp, avif and jxl need their encoder on the server.
      """),
    .number(
      "quality", 1...100, default: 82,
      "The same visible quality for every lossy format, on the scale of libjpeg; ignored for PNG."),
    .word(
      "colorSpace", ColorSpace.self, default: .preserve,
      """
      preserve: keeps the embedded profile. srgb: converts the pixels to sRGB, without a profile. CMYK is always \
      converted.
      """),
    .word(
      "dynamicRange", DynamicRange.self, default: .preserve,
      """
      preserve: a JPEG keeps the gain map of its original, if its longer side has at least 256 pixels; Image-Result \
      then has dynamic-range=high. standard: no gain map. high: with format=avif or jxl, the frame itself has high \
      dynamic range (BT.2020, PQ, 10 bits) if its original has a gain map or is coded in PQ or HLG; others are as with \
      standard.
      """),
    .word(
      "resample", Resampling.self, default: .encoded,
      """
      encoded: scales the values of the file. linear: scales in linear light, which keeps the brightness of fine \
      detail and takes longer.
      """),
    .oneOf(
      "bitDepth", [8, 16], default: 8,
      """
      8 or 16 bits a channel. 16 needs format=png, and applies to originals with more than 8 bits; others have 8.
      """, needs: "format=png"),
    .flag(
      "animated",
      """
      Of a GIF, APNG or animated WebP: all frames as an animated WebP, with format webp or auto. Otherwise the first \
      frame, and also if its adjustments are more than crops, quarter turns and flips.
      """),
    .text(
      "posterTime",
      """
      For a video: shows the last key frame at or before this second. By default the first key frame that is not \
      nearly black. No effect on pictures.
      """,
      pattern: "^[0-9]+(\\.[0-9]+)?$", example: "1.5"),
    .word("multipart", ImageQuery.Multipart.self, "With deliveryMode opportunistic: overrides Accept."),
    .text("v", "The required contentVersion; makes the response immutable."),
    .text(
      "requestID",
      """
      The client's own name for the request, by which another connection can query and cancel it. A name in use gives \
      409.
      """,
      pattern: "^[A-Za-z0-9._-]{1,64}$", example: "grid-42"),
  ]
}
