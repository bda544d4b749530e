// The operations that answer with DNS records.

export const RECORD_OPERATIONS = [
  'GET /zones/:zone_id/dns_records',
  'POST /zones/:zone_id/dns_records',
  'GET /zones/:zone_id/dns_records/:dns_record_id',
  'PATCH /zones/:zone_id/dns_records/:dns_record_id',
  'PUT /zones/:zone_id/dns_records/:dns_record_id',
] as const;
