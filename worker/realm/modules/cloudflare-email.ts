// `cloudflare:email`: the class of a message, so that files which make one can be imported and run.
//
// Nothing here sends mail: a page has no binding that takes a message.

/** A message for a `send_email` binding. */
export class EmailMessage {
  readonly from: string;
  readonly to: string;
  /** workerd's own name of the content. */
  readonly 'EmailMessage::raw': ReadableStream<Uint8Array> | string;

  constructor(from: string, to: string, raw: ReadableStream<Uint8Array> | string) {
    this.from = from;
    this.to = to;
    this['EmailMessage::raw'] = raw;
  }
}
