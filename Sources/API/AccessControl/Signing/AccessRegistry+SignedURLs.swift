import PhotoModel
import Primitives

extension AccessRegistry {
  /// The grant of a URL signature. It is not cached, and never has another scope than `read`.
  ///
  /// - Parameter subject: the requested resource, or the collection that the signature names.
  package func grant(signature: URLSignature, on subject: URLSignature.Subject) throws(CredentialError) -> Grant {
    // Read the class before the keys and tokens: a later change of the keys or tokens gives a new class, so responses
    // prepared under this one are no longer found. Without tokens the class is `.everyone`, whose prepared responses
    // never become invalid, so a signed URL gets no class then.
    let unauthenticatedClass = unauthenticatedClass
    let accessClass = unauthenticatedClass == .everyone ? nil : unauthenticatedClass
    let now = now()
    guard let key = signingKeys.key(signature.key) else { throw .expired }
    guard signature.isValid(for: subject, with: key) else { throw .invalidSignature }
    guard signature.expires > now else { throw .expired }
    let issuer = try issuer(of: signature, at: now)
    let visibility = issuer?.visibility ?? .everything
    let principalName = "signed \(Base64URL.encode(Array(signature.mac.prefix(15))))"
    func grant(_ principal: Principal) -> Grant {
      Grant(
        principal, accessClass: accessClass, expires: min(signature.expires, issuer?.expires ?? .max),
        token: issuer?.identifier)
    }
    guard let collection = signature.collection.map({ LocalIdentifier($0) }) else {
      return grant(Principal(name: principalName, scopes: [.read], visibility: visibility))
    }
    return grant(
      Principal(
        name: principalName, scopes: [.read], visibility: .collections([collection]),
        issuerVisibility: visibility == .everything ? nil : visibility))
  }

  /// The active token that issued a signature; `nil`: the operator.
  private func issuer(of signature: URLSignature, at now: Int64) throws(CredentialError) -> AccessToken? {
    guard signature.issuer != URLSignature.operatorIssuer else { return nil }
    guard let issuer = tokens.token(signature.issuer) else { throw .unknown }
    if let refusal = issuer.refusal(at: now) { throw refusal }
    guard issuer.scopes.contains(.read) else { throw .missingReadScope }
    return issuer
  }

  /// Signs a subject, or a whole collection, with the newest key. Returns `nil` if there is no key.
  ///
  /// - Parameters:
  ///   - issuer: the token whose visibility and expiry limit the signed URL; `nil`: the operator.
  ///   - expires: seconds since 1970; reduced to the expiry of the issuer if that is earlier.
  package func sign(
    _ subject: URLSignature.Subject, collection: String?, issuer: String?, expires: Int64
  ) -> URLSignature? {
    guard let key = signingKeys.newest else { return nil }
    let issuerExpires = issuer.flatMap { tokens.token($0)?.expires } ?? .max
    return URLSignature(
      subject, collection: collection, issuer: issuer ?? URLSignature.operatorIssuer,
      expires: min(expires, issuerExpires), with: key)
  }
}
