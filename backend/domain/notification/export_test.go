package notification

import "context"

// SendDue sends what is due, one after the other, up to a number, and returns how much.
func (s *Service) SendDue(ctx context.Context, most int) (n int, err error) {
	var busy busyQueues
	for n < most {
		d, ok, _, err := s.nextDelivery(ctx, &busy)
		if err != nil || !ok {
			return n, err
		}
		s.send(ctx, d)
		busy.end(d)
		n++
	}
	return n, nil
}
