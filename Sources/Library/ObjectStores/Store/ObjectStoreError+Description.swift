// Errors for operators: what is wrong, and what to change. No text of the store, no address and no credential.

extension ObjectStoreError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .notFound: "the store has no such object, bucket or list"
    case .changed: "the object was replaced"
    case .exists: "an object of this name exists"
    case .accessDenied(let problem): problem.description
    case .unsupported: "the store can't do this"
    case .slowDown: "the store asks for fewer requests"
    case .failed(let status): "the store failed with the status \(status)"
    case .unreachable(let problem): problem.description
    case .timedOut: "the store did not answer in time"
    case .malformed(let problem): problem.description
    case .limitExceeded(let limit): limit.description
    case .addressNotAllowed:
      "the address of the store is private; if that is intended, set remote.allowPrivateAddresses to true"
    case .hostNotAllowed: "the host of the store is not in remote.allowedHosts"
    case .redirected(let status):
      "the store redirects to another address (status \(status)), which is not followed; check the address, the "
        + "region and s3.pathStyle"
    case .suspended(let retryAfter):
      "the store failed repeatedly; it is asked again in \(max(1, retryAfter.components.seconds)) s"
    case .cancelled: "cancelled"
    case .system(let error): "\(error)"
    }
  }
}

extension ObjectStoreError.AccessProblem: CustomStringConvertible {
  package var description: String {
    switch self {
    // Also a wrong key or secret, where the store does not say which: after HEAD, which has no body for it, and from
    // RGW with session tokens.
    case .forbidden: "the store refuses access; check the access key, its secret, and what it may do"
    case .unknownKey: "the store does not know the access key; check AWS_ACCESS_KEY_ID or s3.credentialsFile"
    case .wrongSignature:
      "the store refuses the signature; check the secret (AWS_SECRET_ACCESS_KEY or s3.credentialsFile), s3.region, and "
        + "that no proxy changes requests"
    case .expiredToken: "the session token has expired; get new credentials and restart photod"
    case .clockSkew: "the clocks of this machine and of the store differ by more than 15 minutes"
    }
  }
}

extension ObjectStoreError.ConnectionProblem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .nameNotFound: "the host of the store has no address"
    case .notConnected: "the store can't be reached"
    case .tls: "the certificate of the store is not valid, or there is no common version of TLS"
    case .interrupted: "the connection to the store broke"
    }
  }
}

extension ObjectStoreError.ResponseProblem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .protocolError: "the store does not speak HTTP"
    case .unexpectedStatus(let status): "the store answered with the unexpected status \(status)"
    case .wrongRange: "the store sent another part of the object than the requested one"
    case .wrongLength: "the store sent another number of bytes than it announced"
    case .noEntityTag: "the store sent no strong ETag"
    case .unreadableDocument: "the store's list or answer can't be read"
    case .wrongList:
      "the store's list is not the one that was asked for; check that no proxy or cache ignores the query of requests"
    case .wrongChecksum: "the bytes do not have the checksum that the store gave"
    }
  }
}

extension ObjectStoreError.Limit: CustomStringConvertible {
  package var description: String {
    switch self {
    case .pendingOperations: "too many operations wait for the store"
    case .headerBytes: "the fields of the store's answer are too long"
    case .documentBytes: "the store's list or answer is too long"
    case .objectBytes: "the object is too large"
    }
  }
}

extension S3Credentials.Problem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .missing:
      "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or s3.credentialsFile with a section [default]"
    case .unreadable: "the file can't be read"
    case .incomplete: "the access key or its secret is missing"
    case .malformed: "a credential has a character that is not allowed"
    case .readableByOthers: "other users of this machine can read the file; run chmod 600 on it"
    }
  }
}
