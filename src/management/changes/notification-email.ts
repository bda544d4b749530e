// Until 2023-04-03 load balancer pools have `notification_email`: one address, or several
// separated by commas.

import { NOTIFICATION_EMAIL } from '../resources/pools.ts';
import { admit, type Change } from './change.ts';

export const notificationEmail: Change = {
  id: 'notification-email',
  request: (call) => admit(call, NOTIFICATION_EMAIL),
};
