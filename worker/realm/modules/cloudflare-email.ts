// Implements `cloudflare:email`, so that programs which construct a message can be imported and run.
//
// Nothing here sends mail: this package has no `send_email` binding in a page.

/** A message for a `send_email` binding. */
export class EmailMessage {
  readonly from: string;
  readonly to: string;
  /** The content of the message, under workerd's internal name. */
  readonly 'EmailMessage::raw': ReadableStream<Uint8Array> | string;

  constructor(from: string, to: string, raw: ReadableStream<Uint8Array> | string) {
    this.from = from;
    this.to = to;
    this['EmailMessage::raw'] = raw;
  }
}
