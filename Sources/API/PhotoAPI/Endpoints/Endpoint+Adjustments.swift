import HTTPCore
import ImageService
import PhotoModel

extension Endpoint {
  static let adjustments: [Endpoint] = [
    Endpoint(
      .get, "/v1/assets/{localIdentifier}/adjustments", "getAdjustments", needs: .scope(.read),
      APIOperation(
        "The adjustments of an asset: edits that leave the original unchanged.",
        description: """
          operations are what is rendered. Adjustments of another program have its formatIdentifier and, in data, its \
          bytes unchanged; their operations are those that could be translated, or none. source imported: they follow \
          the edit that another program left in a file, where its data stay. An asset without adjustments \
          gets 404.
          """,
        responses: .validated("The adjustments.", .json(["Adjustments"])), problems: [404, 500]),
      handler: .lookup { api, routed throws(Problem) in
        try api.adjustments.get(routed.identifier("localIdentifier"), routed.request, routed.principal)
      }),

    Endpoint(
      .put, "/v1/assets/{localIdentifier}/adjustments", "setAdjustments", needs: .scope(.write), isReading: false,
      APIOperation(
        "Replaces the adjustments of a picture.",
        description: """
          The guide Adjustments has the operations. If-Match with the ETag of the current adjustments guards against \
          lost updates, and If-None-Match: * against replacing any. An invalid operation is a 422 that names it, and \
          changes nothing. Needs the scopes read and write.
          """,
        body: "Adjustments",
        responses: [
          APIResponse(
            200, "The adjustments are set; contentVersion is that of the adjusted picture.", .json(["Adjustments"]),
            [.cacheControl, .entityTag]),
          APIResponse(412, component: "Problem"),
        ], problems: [404, 409, 422, 500, 507]),
      handler: .change { api, routed throws(Problem) in
        try api.adjustments.put(routed.identifier("localIdentifier"), routed.request, routed.principal)
      }),

    Endpoint(
      .delete, "/v1/assets/{localIdentifier}/adjustments", "revertAdjustments", needs: .scope(.write),
      isReading: false,
      APIOperation(
        "Reverts a picture to its original.",
        description: """
          The asset gets back the contentVersion that it had before its adjustments, and its pictures their ETags. \
          Conditions work as for PUT. Needs the scopes read and write.
          """,
        responses: [
          APIResponse(204, "The asset has no adjustments.", .none, [.cacheControl]),
          APIResponse(412, component: "Problem"),
        ], problems: [404, 409, 500, 507]),
      handler: .change { api, routed throws(Problem) in
        try api.adjustments.delete(routed.identifier("localIdentifier"), routed.request, routed.principal)
      }),

    Endpoint(
      .post, "/v1/assets/{localIdentifier}/preview", "previewAdjustments", needs: .scope(.read),
      APIOperation(
        "A picture with given operations, which are not saved: one JPEG in sRGB.",
        description: """
          For editors: the picture is decoded once, at most \(PreviewService.Limits().proxySide) pixels on its longer \
          side, and kept for the client while it asks for previews. A request cancels the client's earlier one, whose \
          response is 409; the decode goes on, and the latest request is rendered from it.
          """,
        query: [
          .text(
            "client", "The name of a tab or a device: each has its own previews. May be in the body instead.",
            pattern: PlainName.pattern)
        ], body: "Preview",
        responses: [APIResponse(200, "The preview.", .media(["image/jpeg"]), [.cacheControl, .imageResult])],
        problems: [404, 409, 415, 422, 500]),
      handler: .custom { api, routed throws(Problem) in
        try api.preview.answer(routed.identifier("localIdentifier"), routed)
      }),
  ]
}
