import HTTPCore
import PhotoModel

extension Endpoint {
  /// Staged uploads: files that are sent in several requests, before they become assets.
  static let uploads: [Endpoint] = [
    Endpoint(
      .post, "/v1/uploads", "createUpload", needs: .scope(.add), isReading: false,
      APIOperation(
        "Creates a staged upload, which can continue after a lost connection.",
        description: """
          As in the IETF draft of resumable uploads. The body may have the first bytes of the file, or all of them \
          with Upload-Complete: ?1. Upload-Length gives the length of the file, if it is known. The upload becomes an \
          asset by POST /v1/assets with {"upload": ID}, or by createAsset in a change list. One that receives nothing \
          for upload.stagedSeconds is removed. A body that does not match the sha-256 of its Content-Digest is \
          refused, and its bytes are removed. Needs the scope add.
          """,
        query: [.text("filename", "The file's name. Default: from Content-Disposition.", example: "IMG_1.jpg")],
        body: "UploadStart",
        responses: [
          APIResponse(
            201, "The staged upload.", .json(["StagedUpload"]),
            [.cacheControl, .location, .uploadOffset, .uploadComplete, .uploadLength, .uploadLimit])
        ],
        problems: [400, 408, 409, 413, 500, 507], problemComponent: "StagedUploadProblem"),
      handler: .upload { api, routed, body throws(Problem) in try api.uploads.create(body, routed) }),

    Endpoint(
      .get, "/v1/uploads/{upload}", "getUpload", needs: .scope(.add, .admin),
      APIOperation(
        "How many bytes of a staged upload were received.",
        description: """
          HEAD from the upload's owner ends a request that still appends to it, because its connection may be lost. \
          GET changes nothing, nor does HEAD from an administrator or from a page that may not upload.
          """,
        responses: [progress("The offset to continue at.")], problems: [404, 500]),
      handler: .custom { api, routed throws(Problem) in try api.uploads.progress(routed) }),

    Endpoint(
      .patch, "/v1/uploads/{upload}", "appendToUpload", needs: .scope(.add), isReading: false,
      APIOperation(
        "Continues a staged upload.",
        description: """
          Upload-Offset is the offset of the body's first byte. If it is not the upload's current offset, the response \
          is 409 with the current one in Upload-Offset. Upload-Complete: ?1 says that the file ends with this body. A \
          request that still appends to it ends. A body that does not match the sha-256 of its Content-Digest is \
          refused, and the offset is the one before it.
          """,
        body: "UploadPart",
        responses: [
          progress("The bytes are stored and synced."), APIResponse(415, component: "PartTypeUnsupported"),
        ],
        problems: [400, 404, 408, 409, 413, 500, 507], problemComponent: "StagedUploadProblem"),
      handler: .upload { api, routed, body throws(Problem) in try api.uploads.append(body, routed) }),

    Endpoint(
      .delete, "/v1/uploads/{upload}", "deleteUpload", needs: .scope(.add, .admin), isReading: false,
      APIOperation(
        "Deletes a staged upload with its bytes. An administrator may delete those of all callers.",
        responses: [APIResponse(204, "Deleted.", .none, [.cacheControl])], problems: [404, 409, 500]),
      handler: .custom { api, routed throws(Problem) in try api.uploads.delete(routed) }),
  ]

  private static func progress(_ description: String) -> APIResponse {
    APIResponse(
      204, description, .none, [.cacheControl, .uploadOffset, .uploadComplete, .uploadLength, .uploadLimit])
  }
}
