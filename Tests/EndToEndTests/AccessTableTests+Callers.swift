import PhotoModel

// The callers and the pages of the access table.

extension AccessTableTests {
  /// The kinds of callers.
  enum CallerKind: String, CaseIterable {
    /// Without tokens: the local administrator, and a caller behind a proxy.
    case local, forwarded
    /// The same two callers of a daemon that was started with `--allow-anonymous`.
    case openLocal, openForwarded
    /// With tokens: a caller without credentials, also on this machine, and callers with each of these tokens.
    case anonymous, read, location, add, readWrite, admin
    /// Tokens for one album, with the scopes `read`, `read` and `write`, and `read` and `admin`.
    case limited, limitedWrite, limitedAdmin
    /// Old tokens with `write` and without `read`, whose `write` no longer counts: the second has only `admin` left.
    case writeAlone, writeAdmin
    /// A browser session of the token with the scope `read`.
    case session
    /// A signed URL of the first image, and one of its album.
    case signedImage, signedAlbum
    case expired, revoked

    /// The rights of a caller according to the documentation.
    enum Standing {
      case scopes(Set<Scope>)
      /// A signed URL, which opens only its own resource.
      case signature
      /// No valid credential, although one is needed.
      case unauthorized
    }

    var standing: Standing {
      switch self {
      case .local, .openLocal: .scopes([.read, .add, .write, .location, .admin])
      case .forwarded, .openForwarded, .read, .limited, .session: .scopes([.read])
      case .location: .scopes([.read, .location])
      case .add: .scopes([.add])
      case .readWrite, .limitedWrite: .scopes([.read, .write, .add])
      case .limitedAdmin: .scopes([.read, .admin])
      case .admin, .writeAdmin: .scopes([.admin])
      case .writeAlone: .scopes([])
      case .signedImage, .signedAlbum: .signature
      case .anonymous, .expired, .revoked: .unauthorized
      }
    }

    /// The daemon that answers this caller.
    var daemon: DaemonKind {
      switch self {
      case .local, .forwarded: .withoutTokens
      case .openLocal, .openForwarded: .allowingAnonymous
      default: .withTokens
      }
    }

    /// Whether a proxy forwarded the request, so that the caller is not the local administrator.
    var isForwarded: Bool { self == .forwarded || self == .openForwarded }
    /// Whether it sees only one album.
    var isLimited: Bool { [.limited, .limitedWrite, .limitedAdmin].contains(self) }

    /// The status for a caller with scopes; signed URLs get 403, callers without a valid credential 401.
    func status(_ ofScopes: (Set<Scope>) -> Int) -> Int {
      switch standing {
      case .scopes(let scopes): ofScopes(scopes)
      case .signature: 403
      case .unauthorized: 401
      }
    }

    /// The caller that the daemon sees if a page of this origin sends the request: pages of other origins can't use a
    /// session.
    func seen(from origin: OriginKind) -> CallerKind {
      self == .session && !origin.isOwn ? .anonymous : self
    }
  }

  /// The daemons that the callers send their requests to.
  enum DaemonKind: CaseIterable {
    case withoutTokens, allowingAnonymous, withTokens

    var arguments: [String] { self == .allowingAnonymous ? ["--allow-anonymous"] : [] }
  }

  /// The pages that send a request.
  enum OriginKind: String, CaseIterable {
    /// No page, and a page of the daemon's own.
    case none, own
    /// Pages of origins in `corsOrigins` and `corsWriteOrigins`, and of one in neither.
    case reading, writing, foreign
    /// A page of another site, whose browser sends no `Origin`.
    case crossSite

    var isOwn: Bool { self == .none || self == .own }

    var fields: [String] {
      switch self {
      case .none: []
      case .own: ["Origin: http://localhost", "Sec-Fetch-Site: same-origin"]
      case .reading: ["Origin: https://reader.example", "Sec-Fetch-Site: cross-site"]
      case .writing: ["Origin: https://writer.example", "Sec-Fetch-Site: cross-site"]
      case .foreign: ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site"]
      case .crossSite: ["Sec-Fetch-Site: cross-site"]
      }
    }

    /// Whether the contract lets these pages send a request. Reading pages may not change the library, upload, sign
    /// URLs or sign in; pages of other origins may send safe requests, whose responses their browsers keep from them.
    func maySend(_ method: String, _ path: String) -> Bool {
      let needsWritingOrigin =
        [
          "/v1/uploads", "/v1/uploads/{upload}", "/v1/changes", "/v1/signedURLs", "/v1/session", "/v1/assets",
          "/v1/scan", "/v1/assets/{localIdentifier}/adjustments",
          "/v1/assets/{localIdentifier}/keepOriginal", "/v1/collections/{collection}/keepOriginal",
        ].contains(path)
      return switch self {
      case .none, .own, .writing: true
      case .reading: method == "GET" || !needsWritingOrigin
      case .foreign, .crossSite: method == "GET"
      }
    }
  }
}
