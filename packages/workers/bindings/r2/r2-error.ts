// Makes the errors of R2, with the operation, message and code that miniflare gives.

const MESSAGES = {
  10001: 'We encountered an internal error. Please try again.',
  100100: 'Your proposed upload exceeds the maximum allowed object size.',
  10011: 'Your proposed upload is smaller than the minimum allowed object size.',
  10012: 'Your metadata headers exceed the maximum allowed metadata size.',
  10020: 'The specified object name is not valid.',
  10022: 'MaxKeys params must be positive integer <= 1000.',
  10024: 'The specified multipart upload does not exist.',
  10025: 'One or more of the specified parts could not be found.',
  10039: 'The requested range is not satisfiable',
  10048: 'There was a problem with the multipart upload.',
} as const;

export type Operation =
  | 'get'
  | 'head'
  | 'put'
  | 'delete'
  | 'list'
  | 'createMultipartUpload'
  | 'uploadPart'
  | 'completeMultipartUpload'
  | 'abortMultipartUpload';

export function r2Error(operation: Operation, code: keyof typeof MESSAGES): Error {
  return new Error(`${operation}: ${MESSAGES[code]} (${code})`);
}

/** Makes the error of a put whose bytes have another digest than the caller gave. */
export function badDigest(algorithm: string, given: string, actual: string): Error {
  return new Error(
    `put: The ${algorithm} checksum you specified did not match what we received.\n` +
      `You provided a ${algorithm} checksum with value: ${given}\n` +
      `Actual ${algorithm} was: ${actual} (10037)`,
  );
}
