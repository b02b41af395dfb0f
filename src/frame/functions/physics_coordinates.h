// Vectors in the coordinate systems of ROOT::Math (GenVector): the same formulas, and the same types of
// intermediate values, so that results agree to the last bit.
//
// Mass squared and transverse mass squared may be negative; their roots then are, too.
#ifndef COLONNADE_FRAME_FUNCTIONS_PHYSICS_COORDINATES_H
#define COLONNADE_FRAME_FUNCTIONS_PHYSICS_COORDINATES_H

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

namespace colonnade::frame::coordinates {

template <class S>
inline constexpr S pi = std::numbers::pi_v<S>;
// What stands for an infinite pseudorapidity; beyond it the momentum along z is kept.
template <class S>
inline constexpr S eta_max = static_cast<S>(22756.0);
template <class S>
inline const S large_slope = std::pow(std::numeric_limits<S>::epsilon(), static_cast<S>(-.25));

template <class S>
S eta_of(S rho, S z) {
  if (rho > 0) {
    const S slope = z / rho;
    if (std::fabs(slope) < large_slope<S>)
      return static_cast<S>(std::log(slope + std::sqrt(slope * slope + 1.0)));
    return static_cast<S>(z > 0 ? std::log(2.0 * slope + 0.5 / slope) : -std::log(-2.0 * slope));
  }
  if (z == 0) return 0;
  return z > 0 ? z + eta_max<S> : z - eta_max<S>;
}

template <class S>
S within_turn(S phi) {
  if (phi <= -pi<S> || phi > pi<S>) return static_cast<S>(phi - std::floor(phi / (2 * pi<S>)+.5) * 2 * pi<S>);
  return phi;
}

template <class S>
S signed_root(S square) {
  return square >= 0 ? std::sqrt(square) : -std::sqrt(-square);
}

// What the two systems of pt, eta and phi have in common.
template <class S>
struct Cylindrical {
  S pt_value = 0;
  S eta_value = 0;
  S phi_value = 0;

  S pt() const { return pt_value; }
  S eta() const { return eta_value; }
  S phi() const { return phi_value; }
  S px() const { return pt_value * std::cos(phi_value); }
  S py() const { return pt_value * std::sin(phi_value); }
  S pz() const {
    if (pt_value > 0) return pt_value * std::sinh(eta_value);
    if (eta_value == 0) return 0;
    return eta_value > 0 ? eta_value - eta_max<S> : eta_value + eta_max<S>;
  }
  S p() const {
    if (pt_value > 0) return pt_value * std::cosh(eta_value);
    if (eta_value > eta_max<S>) return eta_value - eta_max<S>;
    return eta_value < -eta_max<S> ? -eta_value - eta_max<S> : 0;
  }
  S theta() const {
    if (pt_value > 0) return S(2) * std::atan(std::exp(-eta_value));
    return eta_value >= 0 ? 0 : pi<S>;
  }
  S perp2() const { return pt_value * pt_value; }

 protected:
  void turn_around() {
    phi_value = phi_value > 0 ? phi_value - pi<S> : phi_value + pi<S>;
    eta_value = -eta_value;
  }
};

// What the two systems of px, py and pz have in common.
template <class S>
struct Cartesian {
  S x_value = 0;
  S y_value = 0;
  S z_value = 0;

  S px() const { return x_value; }
  S py() const { return y_value; }
  S pz() const { return z_value; }
  S p_squared() const { return x_value * x_value + y_value * y_value + z_value * z_value; }
  S p() const { return std::sqrt(p_squared()); }
  S perp2() const { return x_value * x_value + y_value * y_value; }
  S pt() const { return std::sqrt(perp2()); }
  S phi() const { return x_value == 0.0 && y_value == 0.0 ? 0 : std::atan2(y_value, x_value); }
  S theta() const {
    return x_value == 0.0 && y_value == 0.0 && z_value == 0.0 ? 0 : std::atan2(pt(), z_value);
  }
  S eta() const { return eta_of(pt(), z_value); }
};

template <class S>
struct PxPyPzE : Cartesian<S> {
  using Scalar = S;
  static constexpr std::size_t size = 4;
  S t_value = 0;

  static PxPyPzE make(S px, S py, S pz, S e) { return {{px, py, pz}, e}; }
  static PxPyPzE from_cartesian(S px, S py, S pz, S e) { return {{px, py, pz}, e}; }
  void store(S* const* out, std::size_t i) const {
    out[0][i] = this->x_value;
    out[1][i] = this->y_value;
    out[2][i] = this->z_value;
    out[3][i] = t_value;
  }
  void scale(S a) {
    this->x_value *= a;
    this->y_value *= a;
    this->z_value *= a;
    t_value *= a;
  }

  S e() const { return t_value; }
  S m2() const {
    return t_value * t_value - this->x_value * this->x_value - this->y_value * this->y_value -
           this->z_value * this->z_value;
  }
  S m() const { return signed_root(m2()); }
  S mt2() const { return t_value * t_value - this->z_value * this->z_value; }
  S et2() const {
    const S pt2 = this->perp2();
    return pt2 == 0 ? 0 : t_value * t_value * pt2 / (pt2 + this->z_value * this->z_value);
  }
  S et() const {
    const S root = std::sqrt(et2());
    return t_value < 0.0 ? -root : root;
  }
};

template <class S>
struct PxPyPzM : Cartesian<S> {
  using Scalar = S;
  static constexpr std::size_t size = 4;
  S m_value = 0;

  static PxPyPzM make(S px, S py, S pz, S m) {
    PxPyPzM v{{px, py, pz}, m};
    // A negative mass stands for a negative square; it may not exceed the momentum.
    if (m < 0 && v.p_squared() - m * m < 0) v.m_value = -v.p();
    return v;
  }
  static PxPyPzM from_cartesian(S px, S py, S pz, S e) {
    return {{px, py, pz}, PxPyPzE<S>::make(px, py, pz, e).m()};
  }
  void store(S* const* out, std::size_t i) const {
    out[0][i] = this->x_value;
    out[1][i] = this->y_value;
    out[2][i] = this->z_value;
    out[3][i] = m_value;
  }
  void scale(S a) {
    this->x_value *= a;
    this->y_value *= a;
    this->z_value *= a;
    m_value *= a;
  }

  S m() const { return m_value; }
  S m2() const { return m_value >= 0 ? m_value * m_value : -m_value * m_value; }
  S e2() const {
    const S square = this->p_squared() + m2();
    return square > 0 ? square : 0;
  }
  S e() const { return std::sqrt(e2()); }
  S mt2() const { return e2() - this->z_value * this->z_value; }
  S et2() const {
    const S pt2 = this->perp2();
    return pt2 == 0 ? 0 : e2() * pt2 / (pt2 + this->z_value * this->z_value);
  }
  S et() const { return std::sqrt(et2()); }
};

template <class S>
struct PtEtaPhiM : Cylindrical<S> {
  using Scalar = S;
  static constexpr std::size_t size = 4;
  S m_value = 0;

  static PtEtaPhiM make(S pt, S eta, S phi, S m) {
    PtEtaPhiM v{{pt, eta, within_turn(phi)}, m};
    if (m < 0) {
      const S momentum = v.p();
      if (momentum * momentum - m * m < 0) v.m_value = -momentum;
    }
    return v;
  }
  static PtEtaPhiM from_cartesian(S px, S py, S pz, S e) {
    const auto c = PxPyPzE<S>::make(px, py, pz, e);
    return {{c.pt(), c.eta(), c.phi()}, c.m()};
  }
  void store(S* const* out, std::size_t i) const {
    out[0][i] = this->pt_value;
    out[1][i] = this->eta_value;
    out[2][i] = this->phi_value;
    out[3][i] = m_value;
  }
  // Of a negative number: turns the momentum around, while mass and energy stay positive.
  void scale(S a) {
    if (a < 0) {
      this->turn_around();
      a = -a;
    }
    this->pt_value *= a;
    m_value *= a;
  }

  S m() const { return m_value; }
  S m2() const { return m_value >= 0 ? m_value * m_value : -m_value * m_value; }
  S e2() const {
    const S momentum = this->p();
    const S square = momentum * momentum + m2();
    return square > 0 ? square : 0;
  }
  S e() const { return std::sqrt(e2()); }
  S mt2() const { return m2() + this->pt_value * this->pt_value; }
  S et2() const { return static_cast<S>(2. * e2() / (std::cosh(2 * this->eta_value) + 1)); }
  S et() const { return e() / std::cosh(this->eta_value); }
};

template <class S>
struct PtEtaPhiE : Cylindrical<S> {
  using Scalar = S;
  static constexpr std::size_t size = 4;
  S e_value = 0;

  static PtEtaPhiE make(S pt, S eta, S phi, S e) { return {{pt, eta, within_turn(phi)}, e}; }
  static PtEtaPhiE from_cartesian(S px, S py, S pz, S e) {
    const auto c = PxPyPzE<S>::make(px, py, pz, e);
    return {{c.pt(), c.eta(), c.phi()}, e};
  }
  void store(S* const* out, std::size_t i) const {
    out[0][i] = this->pt_value;
    out[1][i] = this->eta_value;
    out[2][i] = this->phi_value;
    out[3][i] = e_value;
  }
  void scale(S a) {
    if (a < 0) {
      this->turn_around();
      e_value = -e_value;
      a = -a;
    }
    this->pt_value *= a;
    e_value *= a;
  }

  S e() const { return e_value; }
  S m2() const {
    const S momentum = this->p();
    return e_value * e_value - momentum * momentum;
  }
  S m() const { return signed_root(m2()); }
  S mt2() const {
    const S z = this->pz();
    return e_value * e_value - z * z;
  }
  S et() const { return e_value / std::cosh(this->eta_value); }
  S et2() const {
    const S transverse = et();
    return transverse * transverse;
  }
};

// A vector in space. Where all is 0 its angles are those of atan2.
template <class S>
struct Xyz : Cartesian<S> {
  using Scalar = S;
  static constexpr std::size_t size = 3;

  static Xyz make(S x, S y, S z, S = 0) { return {{x, y, z}}; }
  static Xyz from_cartesian(S x, S y, S z, S = 0) { return {{x, y, z}}; }
  void store(S* const* out, std::size_t i) const {
    out[0][i] = this->x_value;
    out[1][i] = this->y_value;
    out[2][i] = this->z_value;
  }
  void scale(S a) {
    this->x_value *= a;
    this->y_value *= a;
    this->z_value *= a;
  }
  S phi() const { return std::atan2(this->y_value, this->x_value); }
  S theta() const { return std::atan2(this->pt(), this->z_value); }
};

}  // namespace colonnade::frame::coordinates

#endif
