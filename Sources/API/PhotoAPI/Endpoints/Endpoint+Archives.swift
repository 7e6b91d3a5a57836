import HTTPCore
import PhotoModel

extension Endpoint {
  static let archives: [Endpoint] = [
    Endpoint(
      .get, "/v1/archive", "getArchive", needs: .scope(.read),
      APIOperation(
        "The files of assets as a ZIP archive, or a range of it.",
        description: """
          Takes exactly one of assets, collection and fetchResult. Files are stored without compression, under unique \
          names; places are overwritten as in /v1/assets/{localIdentifier}/data. Files that can't be sent are listed \
          in the last entry, photod-errors.txt. A download can be resumed while the ETag is the same.
          """,
        query: [
          .text(
            "assets",
            """
            Identifiers, separated by commas: as many as the request line holds (http.requestLineBytes), at most 500. \
            POST always takes 500.
            """, example: "q0X3mJk1SbaZ2n8vT5rYwA"),
          .text("collection", "A collection: its assets in its order."),
          .text("fetchResult", "A fetch result over assets."),
          .word(
            "resources", ArchivePlanner.Resources.self, default: .primary,
            "The asset's primary file, or all its files: RAW files, videos of live photos and sidecars too."),
          .flag("includeLocation", "Keep the places in the files. Needs the scope location."),
          .text("filename", "The name under which a browser saves the archive.", default: "photos.zip"),
        ],
        responses: .validated(
          "The whole archive.", .media(["application/zip"]), [.acceptRanges, .contentDisposition])
          + [
            APIResponse(
              206, "The range.", .media(["application/zip"]),
              [.entityTag, .cacheControl, .acceptRanges, .contentRange, .contentDisposition])
          ],
        problems: [404, 416, 500]),
      handler: .custom { api, routed throws(Problem) in
        try api.archive.send(ArchiveRequest(queryOf: routed.target), routed)
      }),

    Endpoint(
      .post, "/v1/archive", "requestArchive", needs: .scope(.read),
      APIOperation(
        "The files of assets as a ZIP archive, requested by a body.",
        description: """
          The same as GET, for lists of assets that are too long for a request line. The response can't be resumed, \
          and no cache stores it.
          """,
        body: "Archive",
        responses: [
          APIResponse(200, "The whole archive.", .media(["application/zip"]), [.cacheControl, .contentDisposition])
        ], problems: [404, 500]),
      handler: .custom { api, routed throws(Problem) in try api.archive.sendRequestedByBody(routed) }),
  ]
}
