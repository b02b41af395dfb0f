// Vectors in the coordinate systems of ROOT::Math (GenVector): the same formulas, and the same intermediate
// types, so that results agree to the last bit.
//
// Each object is a batch of vectors. Mass squared and transverse mass squared may be negative; then so are
// their roots.
#ifndef COLONNADE_FRAME_FUNCTIONS_PHYSICS_COORDINATES_H
#define COLONNADE_FRAME_FUNCTIONS_PHYSICS_COORDINATES_H

#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "frame/functions/batch.h"

namespace colonnade::frame::coordinates {

template <class S>
inline constexpr S pi = std::numbers::pi_v<S>;
// Represents an infinite pseudorapidity; beyond it the momentum along z is kept.
template <class S>
inline constexpr S eta_max = static_cast<S>(22756.0);
// The fourth root of 1 / epsilon.
template <class S>
inline constexpr S large_slope = static_cast<S>(sizeof(S) == 8 ? 8192.0 : 53.817370576237735);

template <class S>
Batch<S> eta_of(const Batch<S>& rho, const Batch<S>& z) {
  const Batch<S> slope = z / rho;
  const Batch<bool> moderate = abs(slope) < large_slope<S>;
  const Batch<bool> forward = z > 0;
  const auto steep = select(forward, 2.0 * slope + 0.5 / slope, -2.0 * slope);
  const auto size = log(select(moderate, slope + sqrt(slope * slope + 1.0), steep));
  const Batch<S> eta = cast<S>(select(moderate || forward, size, -size));
  const auto along_the_beam = [](S along) -> S {
    if (along == 0) return 0;
    return along > 0 ? along + eta_max<S> : along - eta_max<S>;
  };
  return select(rho > 0, eta, over(along_the_beam, z));
}

template <class S>
Batch<S> within_turn(const Batch<S>& angle) {
  const auto turned = [](S phi) {
    if (phi <= -pi<S> || phi > pi<S>)
      return static_cast<S>(phi - std::floor(phi / (2 * pi<S>)+.5) * 2 * pi<S>);
    return phi;
  };
  return over(turned, angle);
}

template <class S>
Batch<S> signed_root(const Batch<S>& square) {
  return over([](S x) { return x >= 0 ? std::sqrt(x) : -std::sqrt(-x); }, square);
}

// A negative mass represents a negative square, which may not exceed the momentum's.
template <class S>
Batch<S> possible_mass(const Batch<S>& m, const Batch<S>& momentum, const Batch<S>& momentum_squared) {
  const auto possible = [](S mass, S p, S p_squared) {
    return mass < 0 && p_squared - mass * mass < 0 ? -p : mass;
  };
  return over(possible, m, momentum, momentum_squared);
}

// Common base of the two systems with pt, eta and phi.
template <class S>
struct Cylindrical {
  Batch<S> pt_value;
  Batch<S> eta_value;
  Batch<S> phi_value;

  Batch<S> pt() const { return pt_value; }
  Batch<S> eta() const { return eta_value; }
  Batch<S> phi() const { return phi_value; }
  Batch<S> px() const { return pt_value * cos(phi_value); }
  Batch<S> py() const { return pt_value * sin(phi_value); }
  Batch<S> pz() const {
    const auto along_the_beam = [](S eta) -> S {
      if (eta == 0) return 0;
      return eta > 0 ? eta - eta_max<S> : eta + eta_max<S>;
    };
    return select(pt_value > 0, pt_value * sinh(eta_value), over(along_the_beam, eta_value));
  }
  Batch<S> p() const {
    const auto along_the_beam = [](S eta) -> S {
      if (eta > eta_max<S>) return eta - eta_max<S>;
      return eta < -eta_max<S> ? -eta - eta_max<S> : 0;
    };
    return select(pt_value > 0, pt_value * cosh(eta_value), over(along_the_beam, eta_value));
  }
  Batch<S> theta() const {
    const auto along_the_beam = [](S eta) { return eta >= 0 ? S(0) : pi<S>; };
    return select(pt_value > 0, S(2) * atan(exp(-eta_value)), over(along_the_beam, eta_value));
  }
  Batch<S> perp2() const { return pt_value * pt_value; }

 protected:
  // For vectors multiplied by a negative number.
  void turn_around(const Batch<bool>& where) {
    phi_value =
        select(where, over([](S phi) { return phi > 0 ? phi - pi<S> : phi + pi<S>; }, phi_value), phi_value);
    eta_value = select(where, -eta_value, eta_value);
  }
};

// Common base of the two systems with px, py and pz.
template <class S>
struct Cartesian {
  Batch<S> x_value;
  Batch<S> y_value;
  Batch<S> z_value;

  Batch<S> px() const { return x_value; }
  Batch<S> py() const { return y_value; }
  Batch<S> pz() const { return z_value; }
  Batch<S> p_squared() const { return x_value * x_value + y_value * y_value + z_value * z_value; }
  Batch<S> p() const { return sqrt(p_squared()); }
  Batch<S> perp2() const { return x_value * x_value + y_value * y_value; }
  Batch<S> pt() const { return sqrt(perp2()); }
  Batch<S> phi() const { return select(x_value == 0.0 && y_value == 0.0, S(0), atan2(y_value, x_value)); }
  Batch<S> theta() const {
    return select(x_value == 0.0 && y_value == 0.0 && z_value == 0.0, S(0), atan2(pt(), z_value));
  }
  Batch<S> eta() const { return eta_of(pt(), z_value); }

 protected:
  void stretch(const Batch<S>& a) {
    x_value = x_value * a;
    y_value = y_value * a;
    z_value = z_value * a;
  }
};

template <class S>
struct PxPyPzE : Cartesian<S> {
  using Scalar = S;
  static constexpr std::size_t size = 4;
  Batch<S> t_value;

  static PxPyPzE make(const Batch<S>& px, const Batch<S>& py, const Batch<S>& pz, const Batch<S>& e) {
    return {{px, py, pz}, e};
  }
  static PxPyPzE from_cartesian(const Batch<S>& px, const Batch<S>& py, const Batch<S>& pz,
                                const Batch<S>& e) {
    return {{px, py, pz}, e};
  }
  std::array<const Batch<S>*, size> coordinates() const {
    return {&this->x_value, &this->y_value, &this->z_value, &t_value};
  }
  void scale(const Batch<S>& a) {
    this->stretch(a);
    t_value = t_value * a;
  }

  Batch<S> e() const { return t_value; }
  Batch<S> m2() const {
    return t_value * t_value - this->x_value * this->x_value - this->y_value * this->y_value -
           this->z_value * this->z_value;
  }
  Batch<S> m() const { return signed_root(m2()); }
  Batch<S> mt2() const { return t_value * t_value - this->z_value * this->z_value; }
  Batch<S> et2() const {
    const Batch<S> pt2 = this->perp2();
    return select(pt2 == 0, S(0), t_value * t_value * pt2 / (pt2 + this->z_value * this->z_value));
  }
  Batch<S> et() const {
    const Batch<S> root = sqrt(et2());
    return select(t_value < 0.0, -root, root);
  }
};

template <class S>
struct PxPyPzM : Cartesian<S> {
  using Scalar = S;
  static constexpr std::size_t size = 4;
  Batch<S> m_value;

  static PxPyPzM make(const Batch<S>& px, const Batch<S>& py, const Batch<S>& pz, const Batch<S>& m) {
    PxPyPzM v{{px, py, pz}, m};
    if (any(m < 0)) v.m_value = possible_mass(m, v.p(), v.p_squared());
    return v;
  }
  static PxPyPzM from_cartesian(const Batch<S>& px, const Batch<S>& py, const Batch<S>& pz,
                                const Batch<S>& e) {
    return {{px, py, pz}, PxPyPzE<S>::make(px, py, pz, e).m()};
  }
  std::array<const Batch<S>*, size> coordinates() const {
    return {&this->x_value, &this->y_value, &this->z_value, &m_value};
  }
  void scale(const Batch<S>& a) {
    this->stretch(a);
    m_value = m_value * a;
  }

  Batch<S> m() const { return m_value; }
  Batch<S> m2() const {
    return over([](S m) { return m >= 0 ? m * m : -m * m; }, m_value);
  }
  Batch<S> e2() const {
    return over([](S square) { return square > 0 ? square : S(0); }, this->p_squared() + m2());
  }
  Batch<S> e() const { return sqrt(e2()); }
  Batch<S> mt2() const { return e2() - this->z_value * this->z_value; }
  Batch<S> et2() const {
    const Batch<S> pt2 = this->perp2();
    return select(pt2 == 0, S(0), e2() * pt2 / (pt2 + this->z_value * this->z_value));
  }
  Batch<S> et() const { return sqrt(et2()); }
};

template <class S>
struct PtEtaPhiM : Cylindrical<S> {
  using Scalar = S;
  static constexpr std::size_t size = 4;
  Batch<S> m_value;

  static PtEtaPhiM make(const Batch<S>& pt, const Batch<S>& eta, const Batch<S>& phi, const Batch<S>& m) {
    PtEtaPhiM v{{pt, eta, within_turn(phi)}, m};
    if (any(m < 0)) {
      const Batch<S> momentum = v.p();
      v.m_value = possible_mass(m, momentum, momentum * momentum);
    }
    return v;
  }
  static PtEtaPhiM from_cartesian(const Batch<S>& px, const Batch<S>& py, const Batch<S>& pz,
                                  const Batch<S>& e) {
    const auto c = PxPyPzE<S>::make(px, py, pz, e);
    return {{c.pt(), c.eta(), c.phi()}, c.m()};
  }
  std::array<const Batch<S>*, size> coordinates() const {
    return {&this->pt_value, &this->eta_value, &this->phi_value, &m_value};
  }
  // A negative factor reverses the momentum, while mass and energy stay positive.
  void scale(const Batch<S>& a) {
    this->turn_around(a < 0);
    this->pt_value = this->pt_value * abs(a);
    m_value = m_value * abs(a);
  }

  Batch<S> m() const { return m_value; }
  Batch<S> m2() const {
    return over([](S m) { return m >= 0 ? m * m : -m * m; }, m_value);
  }
  Batch<S> e2() const {
    const Batch<S> momentum = this->p();
    return over([](S square) { return square > 0 ? square : S(0); }, momentum * momentum + m2());
  }
  Batch<S> e() const { return sqrt(e2()); }
  Batch<S> mt2() const { return m2() + this->pt_value * this->pt_value; }
  Batch<S> et2() const { return cast<S>(2. * e2() / (cosh(S(2) * this->eta_value) + S(1))); }
  Batch<S> et() const { return e() / cosh(this->eta_value); }
};

template <class S>
struct PtEtaPhiE : Cylindrical<S> {
  using Scalar = S;
  static constexpr std::size_t size = 4;
  Batch<S> e_value;

  static PtEtaPhiE make(const Batch<S>& pt, const Batch<S>& eta, const Batch<S>& phi, const Batch<S>& e) {
    return {{pt, eta, within_turn(phi)}, e};
  }
  static PtEtaPhiE from_cartesian(const Batch<S>& px, const Batch<S>& py, const Batch<S>& pz,
                                  const Batch<S>& e) {
    const auto c = PxPyPzE<S>::make(px, py, pz, e);
    return {{c.pt(), c.eta(), c.phi()}, e};
  }
  std::array<const Batch<S>*, size> coordinates() const {
    return {&this->pt_value, &this->eta_value, &this->phi_value, &e_value};
  }
  void scale(const Batch<S>& a) {
    this->turn_around(a < 0);
    this->pt_value = this->pt_value * abs(a);
    e_value = e_value * a;
  }

  Batch<S> e() const { return e_value; }
  Batch<S> m2() const {
    const Batch<S> momentum = this->p();
    return e_value * e_value - momentum * momentum;
  }
  Batch<S> m() const { return signed_root(m2()); }
  Batch<S> mt2() const {
    const Batch<S> z = this->pz();
    return e_value * e_value - z * z;
  }
  Batch<S> et() const { return e_value / cosh(this->eta_value); }
  Batch<S> et2() const {
    const Batch<S> transverse = et();
    return transverse * transverse;
  }
};

// A vector in space. The angles of a zero vector are those of atan2.
template <class S>
struct Xyz : Cartesian<S> {
  using Scalar = S;
  static constexpr std::size_t size = 3;

  static Xyz make(const Batch<S>& x, const Batch<S>& y, const Batch<S>& z, const Batch<S>&) {
    return {{x, y, z}};
  }
  static Xyz from_cartesian(const Batch<S>& x, const Batch<S>& y, const Batch<S>& z, const Batch<S>&) {
    return {{x, y, z}};
  }
  std::array<const Batch<S>*, size> coordinates() const {
    return {&this->x_value, &this->y_value, &this->z_value};
  }
  void scale(const Batch<S>& a) { this->stretch(a); }
  Batch<S> phi() const { return atan2(this->y_value, this->x_value); }
  Batch<S> theta() const { return atan2(this->pt(), this->z_value); }
};

}  // namespace colonnade::frame::coordinates

#endif
