import HTTPCore
import PhotoModel

extension Endpoint {
  /// The caller's authorization, browser sessions and signed URLs. All but the last are open: they report the caller's
  /// identity, or sign the caller in or out.
  static let access: [Endpoint] = [
    Endpoint(
      .get, "/v1/authorization", "getAuthorization", needs: .open,
      APIOperation(
        "The caller's authorization status, in PhotoKit's terms. Also available to callers that get 401 elsewhere.",
        credentials: [.none, .token, .session],
        responses: [.json(200, "The caller's authorization.", "Authorization")]),
      handler: .immediate { api, routed throws(Problem) in
        api.authorization.authorization(routed.identity)
      }),

    Endpoint(
      .post, "/v1/session", "signIn", needs: .open, isReading: false,
      APIOperation(
        """
        Signs a browser in: the response sets a cookie that stands for the token, for pages of this site. A client \
        with too many failed attempts gets 429 with Retry-After.
        """,
        body: "SignIn", credentials: [.none],
        responses: [
          APIResponse(201, "Signed in.", .json(["Authorization"]), [.cacheControl, .setCookie])
        ],
        problems: [401]),
      handler: .immediate { api, routed throws(Problem) in
        try api.authorization.signIn(routed.request, from: routed.peer)
      }),

    Endpoint(
      .delete, "/v1/session", "signOut", needs: .open, isReading: false,
      APIOperation(
        "Signs the browser out.", credentials: [.none, .session],
        responses: [
          APIResponse(204, "The session has ended, if there was one.", .none, [.cacheControl, .setCookie])
        ]),
      handler: .immediate { api, routed throws(Problem) in
        api.authorization.signOut(routed.request, from: routed.peer)
      }),

    Endpoint(
      .post, "/v1/signedURLs", "signURL", needs: .scope(.read), isReading: false,
      APIOperation(
        """
        Signs the URL of one image or one album, for use without a token. It shows no locations, and no more than its \
        issuer may see.
        """,
        body: "SignedURL", responses: [.json(201, "The URL is signed.", "SignedURL")], problems: [404, 500]),
      handler: .lookup { api, routed throws(Problem) in
        try api.authorization.sign(routed.request, routed.authorizedCaller)
      }),
  ]
}
